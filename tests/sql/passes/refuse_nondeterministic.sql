-- title: a function of the data
select id from messages where upper(author) = 'ANN' and due > now()
-- becomes
SELECT messages.id AS id
FROM messages AS messages
WHERE UPPER(messages.author) = 'ANN' AND messages.due > NOW()

-- title: a random number
select id, rand() as r from messages
-- becomes
-- refused by refuse_nondeterministic: rand() does not give the same value twice
-- in: RAND()

-- title: a text that is read as the clock
select id from messages where due > timestamp'today'
-- becomes
-- refused by refuse_nondeterministic: 'today' is another point in time whenever the query is read
-- in: CAST('today' AS TIMESTAMP)

-- title: somebody's own function
select id, shop.score(author) as s from messages
-- becomes
-- refused by refuse_nondeterministic: shop.score() is a user-defined function that is not declared deterministic
-- in: shop.score(messages.author)
