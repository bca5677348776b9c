-- The word index is asked term by term. As a join the planner was free to read the whole table instead, and did so where
-- it had no statistics yet. The function belongs to holdfast_store, so that role puts the new one in its place.
GRANT CREATE ON SCHEMA holdfast TO holdfast_store;
SET LOCAL ROLE holdfast_store;

CREATE OR REPLACE FUNCTION holdfast.places(asked bigint[]) RETURNS TABLE (term bigint, places text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
    SET plan_cache_mode = force_custom_plan
    AS $$
        SELECT found.term,
               string_agg(
                   CASE
                       WHEN cardinality(found.at) = 1
                       THEN holdfast.place(found.number, found.at[1], found.tags_from, found.key_from, found.body_from)
                       ELSE (SELECT string_agg(
                                        holdfast.place(
                                            found.number, nth, found.tags_from, found.key_from, found.body_from
                                        ),
                                        ','
                                    )
                               FROM unnest(found.at) AS nth)
                   END,
                   ','
               )
          FROM (SELECT wanted.term, terms.number, terms.tags_from, terms.key_from, terms.body_from,
                       array_positions(terms.terms, wanted.term) AS at
                  FROM unnest(asked) AS wanted (term)
                 CROSS JOIN LATERAL (SELECT *
                                       FROM holdfast.terms
                                      WHERE terms.space_id = holdfast.entered()
                                        AND terms.terms @> ARRAY[wanted.term]
                                     OFFSET 0) AS terms
                OFFSET 0) AS found
         GROUP BY found.term
    $$;

RESET ROLE;
REVOKE CREATE ON SCHEMA holdfast FROM holdfast_store;
