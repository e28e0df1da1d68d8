"""What a pointer network is to learn, and from how much. No torch here: reading a recipe needs none."""

from typing import Literal

PointTask = Literal["sort", "hull", "tour"]
