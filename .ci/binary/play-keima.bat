@"%~dp0keima.exe" web %*
