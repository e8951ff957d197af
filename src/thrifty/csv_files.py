"""How a CSV file is written: its encoding, its separator and its decimal mark.

Programs write CSV in the way of their country. What a file uses is found by looking at it, so that
nobody has to know. Only the standard library is imported, so a header is read in no time.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

from thrifty.errors import DataError
from thrifty.untrusted import read_file

__all__ = ["CsvFormat", "find_format", "read_header", "read_text", "to_commas"]

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
# Characters and records at the start of a file that tell how it is written.
SAMPLE, RECORDS = 1 << 20, 1000
CHUNK = 1 << 20
# Largest size of a list of prices or costs, in bytes: hundreds of thousands of lines.
MAX_SMALL = 1 << 24

COMMA_NUMBER = re.compile(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*")
POINT_NUMBER = re.compile(r"\s*[+-]?\d+\.\d+([eE][+-]?\d+)?\s*")


@dataclass(frozen=True)
class CsvFormat:
    """How a CSV file is written.

    Parameters
    ----------
    encoding : str
        Name of the encoding, as Python knows it.
    separator : str
        The character between cells.
    decimal : str
        The character before the decimals of a number, "." or ",".

    Examples
    --------
    >>> from thrifty.csv_files import CsvFormat
    >>> str(CsvFormat(separator=";", decimal=","))
    'cells separated by semicolons, decimal commas'
    >>> str(CsvFormat())
    ''
    """

    encoding: str = "utf-8-sig"
    separator: str = ","
    decimal: str = "."

    def __str__(self) -> str:
        """Return what differs from plain CSV; empty if nothing does."""
        found = []
        if self.separator != ",":
            found.append(f"cells separated by {SEPARATORS[self.separator]}")
        if self.decimal != ".":
            found.append("decimal commas")
        if self.encoding == "utf-16":
            found.append("encoded as UTF-16")
        return ", ".join(found)


def find_format(path: Path) -> CsvFormat:
    """Find out how a CSV file is written.

    The separator is the character that cuts the header into most cells, and all records into as
    many; decimal commas are recognized where cells are not separated by commas.

    Raises
    ------
    DataError
        If the file is empty, in an unknown encoding, or two separators fit it equally well.
    """
    encoding = _find_encoding(path)
    try:
        with open(path, encoding=encoding, newline="") as file:
            text = file.read(SAMPLE)
    except UnicodeError:
        raise DataError(f"{path}: not the UTF-16 text that its start announces") from None
    if not text.strip():
        raise DataError(f"{path}: the file is empty; its first line names the columns")
    records = {separator: _records(text, separator) for separator in SEPARATORS}
    widths = {separator: len(rows[0]) for separator, rows in records.items() if len(rows[0]) > 1}
    fits = {
        separator: width
        for separator, width in widths.items()
        if all(len(row) == width for row in records[separator])
    }
    # If none fits, the file is ragged, and reading it will say where; if none occurs, the file has
    # one column.
    likely = fits or widths or {",": 1}
    best = [separator for separator, width in likely.items() if width == max(likely.values())]
    if len(best) > 1:
        both = " or ".join(SEPARATORS[separator] for separator in best)
        raise DataError(f"{path}: cells may be separated by {both}; put names with such in quotes")
    separator = best[0]
    cells = [cell for row in records[separator][1:] for cell in row]
    has_commas = separator != "," and any(map(COMMA_NUMBER.fullmatch, cells))
    decimal = "," if has_commas and not any(map(POINT_NUMBER.fullmatch, cells)) else "."
    return CsvFormat(encoding, separator, decimal)


def read_header(path: Path, csv_format: CsvFormat) -> list[str]:
    """Read the first record of a CSV file: the names of its columns."""
    with open(path, encoding=csv_format.encoding, newline="") as file:
        return next(csv.reader(file, delimiter=csv_format.separator), [])


def to_commas(text: str, csv_format: CsvFormat) -> str:
    """Rewrite a small CSV file with commas between cells and decimal points.

    Examples
    --------
    >>> from thrifty.csv_files import CsvFormat, to_commas
    >>> to_commas("feature;price\\nage;1,5\\n", CsvFormat(separator=";", decimal=","))
    'feature,price\\nage,1.5\\n'
    """
    if csv_format.separator == ",":
        return text
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=csv_format.separator):
        is_number = [csv_format.decimal == "," and COMMA_NUMBER.fullmatch(cell) for cell in row]
        cells = zip(row, is_number, strict=True)
        writer.writerow([cell.replace(",", ".") if number else cell for cell, number in cells])
    return out.getvalue()


def _find_encoding(path: Path) -> str:
    """Return UTF-16 if the file starts with its mark, else UTF-8 or, with a warning, cp1252."""
    if path.exists() and not path.is_file():
        raise DataError(f"{path}: this is not a regular file; copy it to one")
    with open(path, "rb") as file:
        if file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16"
    for encoding in ("utf-8-sig", "cp1252"):
        decoder = codecs.getincrementaldecoder(encoding)()
        try:
            with open(path, "rb") as file:
                while chunk := file.read(CHUNK):
                    decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            continue
        if encoding == "cp1252":
            warnings.warn(
                f"{path}: not UTF-8 text, read as Windows-1252 (Western European); if letters come "
                "out wrong, save the file as UTF-8",
                stacklevel=4,
            )
        return encoding
    raise DataError(f"{path}: neither UTF-8 nor Windows-1252 text; save the file as UTF-8")


def _records(text: str, separator: str) -> list[list[str]]:
    """Return the first records of a text that are not blank."""
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            if row:
                rows.append(row)
            if len(rows) > RECORDS:
                break
    except csv.Error:
        pass  # for example a cell that is too long; reading the file will report it
    # The last one may be cut.
    return (rows[:-1] if len(rows) > 1 and len(text) == SAMPLE else rows) or [[""]]


def read_text(path: Path, max_bytes: int = MAX_SMALL) -> str:
    """Read a small file: UTF-8 or, if it is a CSV file, as people have them, with commas then.

    Raises
    ------
    DataError
        If it is not text, larger than `max_bytes`, or its cells cannot be told apart.
    """
    try:
        data = read_file(path, max_bytes, DataError)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    is_csv = path.suffix.lower() == ".csv" and data.strip()
    csv_format = find_format(path) if is_csv else CsvFormat()
    try:
        return to_commas(data.decode(csv_format.encoding), csv_format)
    except UnicodeDecodeError:
        encoding = "UTF-16" if csv_format.encoding == "utf-16" else "UTF-8"
        raise DataError(f"{path}: not {encoding} text; save the file as UTF-8") from None
    except csv.Error as error:
        raise DataError(f"{path}: {error}") from None
