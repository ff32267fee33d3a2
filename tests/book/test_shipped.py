"""The book of 7x7 that ships with Keima."""

from engine.book.book import Book, find_book
from engine.book.player import BookPlayer
from engine.color import BLACK
from engine.game import Game
from engine.rules import CHINESE_KGS
