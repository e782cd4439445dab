"""Films, their people, companies, facts and keywords, joined by ids without indexes, and the
indexes that a DBA would add. Everything is made up; popular films and people have most rows."""

from __future__ import annotations

FOREIGN_KEYS = tuple(
    f"CREATE INDEX a_{table}_{column} ON {table} ({column})"
    for table, columns in {
        "cast_info": ("movie_id", "person_id"),
        "movie_companies": ("movie_id", "company_id"),
        "movie_info": ("movie_id", "info_type_id"),
        "movie_keyword": ("movie_id", "keyword_id"),
    }.items()
    for column in columns
)
FILTERS = (
    "CREATE INDEX a_person ON name (name)",
    "CREATE INDEX a_company ON company_name (name)",
    "CREATE INDEX a_keyword ON keyword (keyword)",
)
EXPERT = (*FOREIGN_KEYS, *FILTERS)

_MOVIES = """\
experiment: movies
targets:
  db:
    kind: {kind}
    durability: os_crash_unsafe
    memory: 128Mi
    setup:
      tables:
        title:
          rows: {films}
          columns:
            id: {{type: int, sequence: 1, key: primary}}
            title: {{type: varchar(60), text: "@@@@@@@@@@ @@@@@@@@"}}
            kind_id: {{type: int, zipfian: [1, 7]}}
            production_year: {{type: int, histogram: [[1930, 1979, 1], [1980, 1999, 2], [2000, 2024, 5]]}}
        name:
          rows: {people}
          columns:
            id: {{type: int, sequence: 1, key: primary}}
            name: {{type: varchar(60), text: "@@@@@@@@@@, @@@@@@@"}}
            gender: {{type: char(1), values: [f, m], weights: [2, 3]}}
        cast_info:
          rows: {cast}
          columns:
            id: {{type: int, sequence: 1, key: primary}}
            movie_id: {{type: int, zipfian: [1, {films}], theta: 0.5}}
            person_id: {{type: int, zipfian: [1, {people}], theta: 0.6}}
            role_id: {{type: int, zipfian: [1, 11]}}
            note: {{type: varchar(80), text: "(as @@@@@@@@ @@@@@@@@@@@@)"}}
        company_name:
          rows: {companies}
          columns:
            id: {{type: int, sequence: 1, key: primary}}
            name: {{type: varchar(60), text: "@@@@@@@@@@@@ Pictures"}}
            country_code: {{type: char(2), values: [aa, bb, cc, dd, ee], weights: [40, 8, 4, 2, 1]}}
        movie_companies:
          rows: {produced}
          columns:
            id: {{type: int, sequence: 1, key: primary}}
            movie_id: {{type: int, zipfian: [1, {films}], theta: 0.4}}
            company_id: {{type: int, zipfian: [1, {companies}], theta: 0.6}}
            note: {{type: varchar(80), text: "(####) (@@@@@@@@@@@@@@)"}}
        info_type:
          rows: 40
          columns:
            id: {{type: int, sequence: 1, key: primary}}
            info: {{type: varchar(30), text: "@@@@@@@@@@@@"}}
        movie_info:
          rows: {infos}
          columns:
            id: {{type: int, sequence: 1, key: primary}}
            movie_id: {{type: int, zipfian: [1, {films}], theta: 0.5}}
            info_type_id: {{type: int, zipfian: [1, 40]}}
            info: {{type: varchar(100), text: "@@@@@@@@@@@@ @@@@@@@@@@@@@@ @@@@@@ ####"}}
        keyword:
          rows: {keywords}
          columns:
            id: {{type: int, sequence: 1, key: primary}}
            keyword: {{type: varchar(40), text: "@@@@@@@-@@@@@@@@@"}}
        movie_keyword:
          rows: {tagged}
          columns:
            id: {{type: int, sequence: 1, key: primary}}
            movie_id: {{type: int, zipfian: [1, {films}], theta: 0.5}}
            keyword_id: {{type: int, zipfian: [1, {keywords}], theta: 0.6}}
workload:
  kind: mix
  sessions: 2
  params:
    film: {{zipfian: [1, {films}], theta: 0.5}}
    person: {{column: name.name}}
    person_id: {{uniform: [1, {people}]}}
    company: {{column: company_name.name}}
    word: {{column: keyword.keyword}}
    word_id: {{uniform: [1, {keywords}]}}
    fact: {{column: info_type.info}}
    fact_id: {{uniform: [1, 40]}}
    year: {{uniform: [1980, 2020]}}
    new: {{sequence: 10000001}}
  statements:
    films_of_a_person:
      weight: 6
      sql: >-
        SELECT t.title, t.production_year, c.role_id FROM name n JOIN cast_info c ON c.person_id = n.id
        JOIN title t ON t.id = c.movie_id WHERE n.name = :person ORDER BY t.production_year DESC
    cast_of_a_film:
      weight: 8
      sql: >-
        SELECT n.name, c.role_id, c.note FROM title t JOIN cast_info c ON c.movie_id = t.id
        JOIN name n ON n.id = c.person_id WHERE t.id = :film
    facts_of_a_film:
      weight: 8
      sql: >-
        SELECT y.info, i.info FROM title t JOIN movie_info i ON i.movie_id = t.id
        JOIN info_type y ON y.id = i.info_type_id WHERE t.id = :film
    recent_by_keyword:
      weight: 4
      sql: >-
        SELECT t.title, t.production_year FROM keyword k JOIN movie_keyword w ON w.keyword_id = k.id
        JOIN title t ON t.id = w.movie_id WHERE k.keyword = :word AND t.production_year >= :year
        ORDER BY t.production_year DESC LIMIT 10
    people_by_keyword:
      weight: 1
      sql: >-
        SELECT n.gender, COUNT(*) FROM keyword k JOIN movie_keyword w ON w.keyword_id = k.id
        JOIN title t ON t.id = w.movie_id JOIN cast_info c ON c.movie_id = t.id
        JOIN name n ON n.id = c.person_id WHERE k.keyword = :word AND t.production_year = :year GROUP BY n.gender
    facts_of_a_company:
      weight: 2
      sql: >-
        SELECT MIN(t.title), MIN(i.info) FROM company_name o JOIN movie_companies m ON m.company_id = o.id
        JOIN title t ON t.id = m.movie_id JOIN movie_info i ON i.movie_id = t.id
        JOIN info_type y ON y.id = i.info_type_id WHERE o.name = :company AND y.info = :fact
    credits_of_a_film:
      weight: 2
      sql: >-
        SELECT o.name, n.name, c.role_id FROM title t JOIN movie_companies m ON m.movie_id = t.id
        JOIN company_name o ON o.id = m.company_id JOIN cast_info c ON c.movie_id = t.id
        JOIN name n ON n.id = c.person_id WHERE t.id = :film AND o.country_code = 'aa' AND c.role_id <= 2
    people_of_a_company:
      weight: 1
      sql: >-
        SELECT MIN(n.name), COUNT(*) FROM company_name o JOIN movie_companies m ON m.company_id = o.id
        JOIN title t ON t.id = m.movie_id JOIN movie_keyword w ON w.movie_id = t.id
        JOIN cast_info c ON c.movie_id = t.id JOIN name n ON n.id = c.person_id
        WHERE o.name = :company AND w.keyword_id = :word_id AND n.gender = 'f'
    add_role: {{sql: "INSERT INTO cast_info (id, movie_id, person_id, role_id, note) VALUES (:new, :film, :person_id, 1, '(new)')", weight: 2}}
    add_fact: {{sql: "INSERT INTO movie_info (id, movie_id, info_type_id, info) VALUES (:new, :film, :fact_id, 'new')", weight: 2}}
    add_keyword: {{sql: "INSERT INTO movie_keyword (id, movie_id, keyword_id) VALUES (:new, :film, :word_id)", weight: 2}}
"""  # noqa: E501


def experiment(kind: str, quick: bool) -> str:
    """The workload with its data, of one kind of server."""
    films = 300 if quick else 2_000
    return _MOVIES.format(
        kind=kind, films=films, people=films * 2, cast=films * 6, companies=films // 5,
        produced=films * 2, infos=films * 4, keywords=films // 4, tagged=films * 4,
    )  # fmt: skip
