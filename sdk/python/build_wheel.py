"""Builds the wheel of hostsup-host with the standard library alone.

    python3 build_wheel.py VERSION FOLDER    prints the name of the wheel

It is also the backend of ``pip install`` for this folder, which so needs no other package.
The same files and the same SOURCE_DATE_EPOCH give the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import os
import pathlib
import re
import sys
import time
import zipfile
from typing import Any, Dict, List, Optional

HERE = pathlib.Path(__file__).resolve().parent
METADATA = """\
Metadata-Version: 2.1
Name: hostsup-host
Version: {version}
Summary: The SDK for hosts of hostsup in Python
Project-URL: Source, https://github.com/hostsup/hostsup
License: {license}
Classifier: Framework :: AsyncIO
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Requires-Python: >=3.9
Requires-Dist: msgpack>=1.0.3
Description-Content-Type: text/markdown

{readme}"""
WHEEL = "Wheel-Version: 1.0\nGenerator: hostsup\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def public(version: str) -> str:
    """Returns a version in Python's form: 1.2.3-rc.1 becomes 1.2.3rc1."""
    base, _, more = version.partition("-")
    if not more:
        return base
    found = re.fullmatch(r"(alpha|beta|rc)\.?(\d*)", more)
    if found:
        return base + {"alpha": "a", "beta": "b", "rc": "rc"}[found[1]] + (found[2] or "0")
    return base + ".dev0+" + re.sub(r"[^0-9a-zA-Z]+", ".", more)


def files(version: str) -> Dict[str, bytes]:
    """Returns the files of the wheel."""
    out: Dict[str, bytes] = {}
    for path in sorted((HERE / "src" / "hostsup_host").iterdir()):
        if path.suffix == ".py" or path.name == "py.typed":
            out[f"hostsup_host/{path.name}"] = path.read_bytes()
    license = next((p for p in (HERE / "LICENSE", HERE.parent.parent / "LICENSE") if p.exists()), None)
    info = f"hostsup_host-{version}.dist-info"
    name = "see the file LICENSE"
    if license is not None:
        out[f"{info}/LICENSE"] = license.read_bytes()
        name = license.read_text().strip().splitlines()[0].strip()
    out[f"{info}/METADATA"] = METADATA.format(version=version, license=name, readme=(HERE / "README.md").read_text()).encode()
    out[f"{info}/WHEEL"] = WHEEL.encode()
    record = "".join(f"{n},sha256={_digest(data)},{len(data)}\n" for n, data in out.items())
    out[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    return out


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def build_wheel(wheel_directory: str, config_settings: Optional[Dict[str, Any]] = None, metadata_directory: Optional[str] = None) -> str:
    """Builds a wheel into a folder and returns its name. The version is that of HOSTSUP_VERSION, 0.0.0 without one."""
    version = public(os.environ.get("HOSTSUP_VERSION", "0.0.0"))
    name = f"hostsup_host-{version}-py3-none-any.whl"
    # A zip file has no time before 1980.
    when = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800))[:6]
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as f:
        for path, data in files(version).items():
            entry = zipfile.ZipInfo(path, when)
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            f.writestr(entry, data)
    return name


def build_sdist(sdist_directory: str, config_settings: Optional[Dict[str, Any]] = None) -> str:
    """Is not offered: the wheel is for every system."""
    raise RuntimeError("hostsup-host is published as a wheel only")


def main(args: List[str]) -> int:
    """Builds the wheel of the arguments VERSION and FOLDER."""
    if len(args) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    os.environ["HOSTSUP_VERSION"] = args[0]
    print(build_wheel(args[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
