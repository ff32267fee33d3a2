"""Settings of the network, the inference backend, and the machine's threads and memory."""

from engine.settings.setting import Heading, Setting
from engine.settings.table.kinds import choice, input_file, integer, text, under

AUTO = "auto"
BACKENDS = (AUTO, "numba", "openvino", "torch")
DEVICES = (AUTO, "cpu", "gpu", "openvino:GPU", "openvino:NPU")
PRECISIONS = (AUTO, "fp32", "bf16", "fp16", "int16", "int8")
_SEARCHING = ("gtp", "play", "solve", "bench", "tune")
_COMPUTING = (
    *_SEARCHING,
    "levels",
    "book build",
    "analysis",
    "review",
    "explain",
    "net check",
    "selfplay",
    "distill",
    "train test",
    "train gate",
)
# Python, numba, OpenVINO and their code, measured with the shipped networks while kernels are compiled.
_MEMORY = "Memory limit of network, cached evaluations and {} together, in MiB; the program takes 500 more."
_PROFILE = text(
    "profile",
    "Players for a human network to imitate, such as rank_5k.",
    flags=("--human-profile",),
    metavar="PROFILE",
)

NETWORK_ROWS: tuple[Setting, ...] = (
    *under(
        Heading.NETWORK,
        (*(each for each in _SEARCHING if each != "gtp"), "review", "levels", "book build", "explain", "doctor"),
        text(
            "net",
            "Network: a file, a directory (its newest network), the name of one that ships with Keima, such as "
            "zero9, or none to play by playouts.",
            metavar="FILE|DIRECTORY|none",
            default_text="keima-t7c96",
        ),
    ),
    *under(
        Heading.NETWORK,
        ("gtp", "analysis"),
        text(
            "net",
            "Network: a file, a directory (its newest network), the name of one that ships with Keima, such as "
            "zero9, or none to play by playouts.",
            flags=("--net", "--model", "-model"),
            metavar="FILE|DIRECTORY|none",
            default_text="keima-t7c96",
            reason="Programs written for KataGo name the network with -model.",
        ),
    ),
    *under(
        Heading.NETWORK,
        ("selfplay",),
        text(
            "net",
            "Network: a file, a directory (its newest network), or none to start from random weights.",
            metavar="FILE|DIRECTORY|none",
            required=True,
            reason="Games are recorded for training, so the network that plays them is always named.",
        ),
    ),
    *under(
        Heading.NETWORK,
        ("learn",),
        text(
            "net",
            "Network to start from: a file in any format, or the name of one that ships with Keima.",
            metavar="FILE",
            default_text="keima-t7c96",
            reason="Fine-tuning needs a trained network, so none is no choice.",
        ),
    ),
    *under(
        Heading.NETWORK,
        ("train run", "zero"),
        text(
            "net",
            "Network to start from, in any format.",
            metavar="FILE",
            default_text="random weights",
            reason="Training starts from random weights where no network is named.",
        ),
    ),
    *under(
        Heading.NETWORK,
        ("train bench",),
        text(
            "net",
            "Network to train.",
            metavar="FILE",
            default_text="Keima's default architecture",
            reason="The speed of training depends on the architecture alone.",
        ),
    ),
    *under(
        Heading.NETWORK,
        _COMPUTING,
        choice(
            "backend",
            "Inference backend: Keima's kernels (numba), OpenVINO or PyTorch (auto: the fastest here).",
            AUTO,
            choices=BACKENDS,
        ),
    ),
    *under(Heading.NETWORK, tuple(surface for surface in _COMPUTING if surface != "play"), _PROFILE),
    *under(Heading.EXPERT, ("play",), _PROFILE._replace(reason="A person at the terminal has a short first screen.")),
    *under(
        Heading.EXPERT,
        ("gtp", "play", "analysis"),
        text(
            "human_model",
            "Human network beside the playing one; --human-profile says whom it imitates, the human_... search "
            "parameters what it decides.",
            flags=("--human-model", "-human-model"),
            metavar="FILE",
        ),
    ),
    *under(
        Heading.NETWORK,
        ("levels",),
        text(
            "human_model",
            "Human network that draws the moves of the ranks, beside the playing one.",
            metavar="FILE",
            default_text="none",
            reason="Here each rank says whom the network imitates.",
        ),
    ),
    *under(
        Heading.EXPERT,
        _COMPUTING,
        choice(
            "precision",
            "Number format of inference (auto: chosen for this machine and network).",
            AUTO,
            choices=PRECISIONS,
        ),
    ),
    *under(
        Heading.EXPERT,
        tuple(each for each in _COMPUTING if each not in ("bench", "selfplay", "train gate")),
        choice(
            "device",
            "Device of inference: the CPU, a GPU by PyTorch (CUDA, ROCm, XPU or MPS), or a GPU or NPU by OpenVINO "
            "(auto: the fastest one here in a trial). Where it fails, the CPU computes.",
            AUTO,
            choices=DEVICES,
        ),
    ),
    *under(
        Heading.MACHINE,
        (*_COMPUTING, "train run", "train bench", "learn"),
        integer("threads", "CPU threads to use.", least=1, default_text="all cores"),
    ),
    *under(
        Heading.MACHINE,
        ("analysis",),
        integer(
            "analysis_threads",
            "Positions analyzed at the same time.",
            least=1,
            most=16384,
            flags=("--analysis-threads", "-analysis-threads"),
            default_text="as many as keep the evaluator busy",
        ),
    ),
    *under(
        Heading.EXPERT,
        ("gtp", "analysis"),
        text(
            "listen",
            "Serve clients on the network at this address, by TCP and WebSocket, each with a session of its own.",
            metavar="HOST:PORT",
            default_text="stdin and stdout",
        ),
        input_file(
            "token_file",
            "File with the token that clients of --listen must send; needed where other machines can connect.",
        ),
        integer("connections", "Clients of --listen at a time.", 64, least=1, most=1000, unit="clients"),
    ),
    *under(
        Heading.EXPERT,
        ("analysis",),
        integer(
            "most_open",
            "Positions of a client of --listen that may be unanswered; its further queries are read later.",
            1000,
            least=1,
            unit="positions",
            flags=("--queue",),
        ),
    ),
    *under(
        Heading.EXPERT,
        ("gtp", "play", "solve"),
        integer("max_memory", _MEMORY.format("the tree"), least=1, unit="MiB", default_text="512 for the tree alone"),
    ),
    *under(
        Heading.EXPERT,
        ("analysis",),
        integer(
            "max_memory",
            _MEMORY.format("all trees"),
            least=1,
            unit="MiB",
            default_text="512 for the trees alone",
            reason="Positions that are analyzed at the same time have a tree each and share this memory.",
        ),
    ),
    *under(
        Heading.EXPERT,
        ("gtp", "play", "analysis"),
        choice(
            "log_level", "Least severe log lines on stderr.", "warning", choices=("error", "warning", "info", "debug")
        ),
    ),
)
