"""Unit tests mirror the packages; cluster/ is a real Kubernetes, simgpu/ the one simulated part."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
