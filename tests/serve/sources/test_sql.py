"""A source in a database: parameters, rows, and errors without values."""

from __future__ import annotations

import asyncio
import builtins

import pytest
import sqlalchemy

from thrifty.errors import DataError
from thrifty.serve import NotFoundError, Query, RefusedError, SqlSource, UnclearError, UnsentError

QUERY = "SELECT chol, sugar FROM lab WHERE patient = :patient"


@pytest.fixture
def database(tmp_path):
    url = f"sqlite:///{tmp_path}/lab.db"
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE lab (patient, chol, sugar)"))
        rows = [("ann", 233, 1.5), ("bob", None, 2.5), ("twin", 1, 1), ("twin", 2, 2)]
        for patient, chol, sugar in rows:
            connection.execute(
                sqlalchemy.text("INSERT INTO lab VALUES (:p, :c, :s)"),
                {"p": patient, "c": chol, "s": sugar},
            )
    engine.dispose()
    return url


def fetch(source, *features, **context):
    async def run():
        try:
            return await source.fetch(Query(features or source.terms.features, context=context))
        finally:
            await source.close()

    return asyncio.run(run())


def test_one_query_delivers_all_features_of_a_case(database):
    source = SqlSource("lab", database, QUERY, {"chol": "chol", "fbs": "sugar"}, price=8.0)
    assert fetch(source, patient="ann") == {"chol": 233, "fbs": 1.5}
    assert fetch(source, patient="bob") == {"chol": None, "fbs": 2.5}
    assert source.needs == ["patient"] and source.terms.sold == "together"


def test_an_identifier_is_a_parameter_and_never_a_part_of_the_query(database):
    source = SqlSource("lab", database, QUERY, ["chol"])
    with pytest.raises(NotFoundError, match="no row"):
        fetch(source, patient="ann' OR '1' = '1")


def test_a_value_of_the_case_may_be_a_parameter(database):
    source = SqlSource("lab", database, "SELECT :age + 1 AS chol", ["chol"])
    found = asyncio.run(source.fetch(Query(("chol",), values={"age": 63})))
    assert found == {"chol": 64}


def test_a_missing_identifier_is_named_and_nothing_is_sent(database):
    with pytest.raises(UnsentError, match="pass 'patient' in the context"):
        fetch(SqlSource("lab", database, QUERY, ["chol"]))


def test_more_than_one_row_is_refused(database):
    with pytest.raises(RefusedError, match="more than one row"):
        fetch(SqlSource("lab", database, QUERY, ["chol"]), patient="twin")


def test_a_column_that_the_query_lacks_is_refused(database):
    with pytest.raises(RefusedError, match="no column 'thal'"):
        fetch(SqlSource("lab", database, QUERY, ["thal"]), patient="ann")


def test_an_error_of_the_database_shows_no_value(database):
    source = SqlSource("lab", database, "SELECT * FROM missing WHERE x = :patient", ["chol"])
    with pytest.raises(RefusedError, match="'lab': OperationalError") as caught:
        fetch(source, patient="ann")
    assert "ann" not in str(caught.value)


def test_a_database_that_cannot_be_reached_was_not_asked(tmp_path):
    source = SqlSource("lab", f"sqlite:///{tmp_path}/no/folder.db", "SELECT 1 AS chol", ["chol"])
    with pytest.raises(UnsentError, match="no connection"):
        fetch(source)


def test_a_connection_that_is_lost_leaves_a_doubt(database, monkeypatch):
    source = SqlSource("lab", database, QUERY, ["chol"])

    def lose(*_):
        error = sqlalchemy.exc.OperationalError("", {}, Exception())
        error.connection_invalidated = True
        raise error

    monkeypatch.setattr(sqlalchemy.Connection, "execute", lose)
    with pytest.raises(UnclearError):
        fetch(source, patient="ann")


def test_an_engine_that_was_passed_is_not_closed(database):
    engine = sqlalchemy.create_engine(database)
    source = SqlSource("lab", engine, QUERY, ["chol"])
    fetch(source, patient="ann")
    with engine.connect() as connection:
        assert connection.execute(sqlalchemy.text("SELECT count(*) FROM lab")).scalar() == 4
    engine.dispose()


@pytest.mark.parametrize("url", ["nowhere", "nosuch://host/db"])
def test_an_address_that_is_no_database_is_refused_without_its_secrets(url):
    with pytest.raises(DataError, match="the database cannot be used"):
        SqlSource("lab", url, QUERY, ["chol"])


def test_the_repr_has_no_password():
    source = SqlSource("lab", "postgresql+pg8000://ann:s3cret@db/lab?k=v", QUERY, ["chol"])
    assert "s3cret" not in repr(source) and "k=v" not in repr(source)
    assert repr(source).startswith("SqlSource('lab', postgresql+pg8000://ann:***@db/lab")


def test_a_missing_package_is_named(monkeypatch):
    real = builtins.__import__

    def importing(name, *arguments):
        if name == "sqlalchemy":
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", importing)
    with pytest.raises(DataError, match="pip install 'thrifty\\[serve\\]'"):
        SqlSource("lab", "sqlite://", QUERY, ["chol"])
