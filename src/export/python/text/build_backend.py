"""Builds this package: a PEP 517 backend that runs `make` and needs nothing but Python and a C compiler."""

import base64
import hashlib
import io
import os
import subprocess
import sysconfig
import tarfile
import zipfile

NAME = "PACKAGE"
VERSION = "VERSION_NUMBER"
SUMMARY = "KERNEL_SUMMARY"

_TAG = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
_INFO = f"{NAME}-{VERSION}.dist-info"
_METADATA = f"""Metadata-Version: 2.1
Name: {NAME}
Version: {VERSION}
Summary: {SUMMARY}
License: Apache-2.0
Requires-Python: >=3.9
"""
_WHEEL = f"Wheel-Version: 1.0\nGenerator: millrace\nRoot-Is-Purelib: false\nTag: {_TAG}\n"


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = os.path.join(metadata_directory, _INFO)
    os.makedirs(folder, exist_ok=True)
    for name, text in (("METADATA", _METADATA), ("WHEEL", _WHEEL)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    return _INFO


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    subprocess.run(["make", "-s", f"-j{os.cpu_count() or 1}", "library"], check=True)
    name = f"{NAME}-{VERSION}-{_TAG}.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        records = []

        def add(path, content, mode=0o644):
            entry = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            records.append(f"{path},sha256={digest},{len(content)}\n")

        for folder, folders, files in os.walk(NAME):
            folders[:] = sorted(each for each in folders if each != "__pycache__")
            for each in sorted(files):
                path = os.path.join(folder, each)
                with open(path, "rb") as file:
                    add(path.replace(os.sep, "/"), file.read(), 0o755 if each.endswith(".so") else 0o644)
        with open("LICENSE", "rb") as file:
            add(f"{_INFO}/LICENSE", file.read())
        add(f"{_INFO}/METADATA", _METADATA.encode())
        add(f"{_INFO}/WHEEL", _WHEEL.encode())
        wheel.writestr(f"{_INFO}/RECORD", "".join(records) + f"{_INFO}/RECORD,,\n")
    return name


def build_sdist(sdist_directory, config_settings=None):
    root = f"{NAME}-{VERSION}"
    with tarfile.open(os.path.join(sdist_directory, f"{root}.tar.gz"), "w:gz") as archive:
        metadata = tarfile.TarInfo(f"{root}/PKG-INFO")
        metadata.size = len(_METADATA.encode())
        archive.addfile(metadata, io.BytesIO(_METADATA.encode()))
        for folder, folders, files in os.walk("."):
            folders[:] = sorted(each for each in folders if each not in ("__pycache__", "build"))
            for each in sorted(files):
                if not each.endswith((".o", ".so")):
                    archive.add(os.path.join(folder, each), f"{root}/{os.path.join(folder, each)[2:]}")
    return f"{root}.tar.gz"
