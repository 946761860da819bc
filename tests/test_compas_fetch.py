"""The COMPAS download against a server on this machine: what is kept of it, and when it is asked for."""

import csv
import hashlib
import io
import os

import numpy as np
import pandas as pd
import pytest
from support.gallery import public_compas
from support.loopback import Answer, serving

from fairfrontier.datasets import compas, fetch_compas
from fairfrontier.errors import InputError

HEADER = (
    "id,name,first,last,compas_screening_date,sex,dob,age,age_cat,race,juv_fel_count,decile_score,"
    "juv_misd_count,juv_other_count,priors_count,days_b_screening_arrest,c_jail_in,c_jail_out,c_case_number,"
    "c_offense_date,c_arrest_date,c_days_from_compas,c_charge_degree,c_charge_desc,is_recid,r_case_number,"
    "r_charge_degree,r_days_from_arrest,r_offense_date,r_charge_desc,r_jail_in,r_jail_out,violent_recid,"
    "is_violent_recid,vr_case_number,vr_charge_degree,vr_offense_date,vr_charge_desc,type_of_assessment,"
    "decile_score,score_text,screening_date,v_type_of_assessment,v_decile_score,v_score_text,v_screening_date,"
    "in_custody,out_custody,priors_count,start,end,event,two_year_recid"
)
COLUMNS = HEADER.split(",")


def made_up_file(n=60):
    """A file of the public one's form, about nobody; the second of two equally named columns is always 99."""
    rng = np.random.default_rng(0)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for k in range(n):
        score = int(rng.integers(1, 11))
        row = {
            "name": f"jane doe-{k}", "first": "jane", "last": f"doe-{k}", "dob": f"1900-01-{1 + k % 28:02}",
            "sex": str(rng.choice(["Male", "Female"])), "age": int(rng.integers(18, 70)), "priors_count": k % 7,
            "race": str(rng.choice(["African-American", "Caucasian", "Other"])), "c_charge_desc": 'a "charge", quoted',
            "juv_fel_count": 0, "juv_misd_count": 0, "juv_other_count": 0, "c_charge_degree": "FM"[k % 2],
            "days_b_screening_arrest": "" if k == 3 else -1, "is_recid": k % 2, "decile_score": score,
            "score_text": "Low" if score < 5 else "High", "two_year_recid": k % 2,
        }  # fmt: skip
        line = [row.get(name, "") for name in COLUMNS]
        for name in ("decile_score", "priors_count"):
            line[len(COLUMNS) - 1 - COLUMNS[::-1].index(name)] = 99
        writer.writerow(line)
    return text.getvalue().encode()


BODY = made_up_file()


@pytest.fixture
def server(tmp_path, monkeypatch):
    """The made-up file as the public one."""
    (tmp_path / "public.csv").write_bytes(BODY)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(compas, "_SHA256", hashlib.sha256(BODY).hexdigest())
    reduced = compas._reduced(tmp_path / "public.csv")
    monkeypatch.setattr(compas, "_REDUCED_SHA256", hashlib.sha256(reduced).hexdigest())
    with serving(Answer(BODY)) as server:
        monkeypatch.setattr(compas, "_URL", server.url)
        yield server


def same(one, other):
    pd.testing.assert_frame_equal(one.X, other.X)
    for name in ("y", "sensitive_features", "decile_score"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.excluded == other.excluded


def test_downloaded_once_and_equal_to_the_file_itself(server, tmp_path):
    own = fetch_compas(path=tmp_path / "public.csv")
    assert server.asked == []
    assert len(own.y) > 10
    assert sum(own.excluded.values()) > 1
    assert 99 not in own.decile_score
    for _ in range(2):
        same(fetch_compas(tmp_path / "cache"), own)
    assert len(server.asked) == 1


def test_the_cache_holds_no_names_and_no_birth_dates(server, tmp_path, monkeypatch):
    cache, passing = tmp_path / "cache", tmp_path / "passing"
    passing.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(passing))
    fetch_compas(cache)
    (kept,) = cache.iterdir()
    assert list(pd.read_csv(kept).columns) == list(compas._NEEDED)
    text = kept.read_text()
    assert not any(word in text for word in ("jane", "doe", "1900-01", "charge,", "quoted"))
    assert os.listdir(passing) == []  # nor does the public file stay elsewhere


def test_a_spoilt_copy_is_downloaded_anew(server, tmp_path):
    own = fetch_compas(tmp_path / "cache")
    (kept,) = (tmp_path / "cache").iterdir()
    kept.write_text(kept.read_text().replace("Caucasian", "African-American"))
    same(fetch_compas(tmp_path / "cache"), own)
    assert len(server.asked) == 2


def test_another_file_than_the_public_one_is_refused(server, tmp_path, monkeypatch):
    monkeypatch.setattr(compas, "_SHA256", "0" * 64)
    with pytest.raises(InputError, match="give its place by `path=`") as caught:
        fetch_compas(tmp_path / "cache")
    assert caught.value.code == "no-download"
    assert os.listdir(tmp_path / "cache") == []


def test_the_environment_names_the_cache(server, tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRFRONTIER_DATA", str(tmp_path / "named"))
    fetch_compas()
    assert len(os.listdir(tmp_path / "named")) == 1


def test_path_and_cache_are_not_given_together(server, tmp_path):
    with pytest.raises(InputError, match="not both") as caught:
        fetch_compas(tmp_path / "cache", tmp_path / "public.csv")
    assert caught.value.code == "bad-option"
    assert server.asked == []


def test_the_checksum_of_what_is_kept_is_that_of_the_public_rows(tmp_path):
    """The shared copy writes days as decimal numbers; else its columns are the public file's."""
    public_compas().to_csv(tmp_path / "rows.csv", index=False)
    assert hashlib.sha256(compas._reduced(tmp_path / "rows.csv")).hexdigest() == compas._REDUCED_SHA256
