"""Networks as graphs of OpenVINO's."""
