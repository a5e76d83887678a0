"""Input files of the user's: graphs, matrices and images. What is wrong with one is told with its file and line."""

from __future__ import annotations


