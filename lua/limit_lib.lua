-- Takes back what was charged to the window `key`, a log or not, of so many
-- ms, at a time, us.  It is text, not a function, which Redis would make anew
-- each time.

if log then
  failed = redis.pcall('ZREM', key, at)
  failed = type(failed) == 'table' and failed

else
  local b = redis.pcall('HMGET', key, 's', 'c', 'p')

  -- If a bucket has ended since, the request is in the one before.

  local start = tonumber(b[1])
  local age = start and at / 1000 - start
  local field = age and (age >= 0 and 'c' or age >= -window and 'p')

  if field and (tonumber(b[field == 'c' and 2 or 3]) or 0) >= 1 then
    call('HINCRBY', key, field, '-1')
  end

  failed = b.err and b
end

-- of another type, or of another algorithm: the charge is gone already

if failed and failed.err:find('^WRONGTYPE ') then
  failed = false
end
