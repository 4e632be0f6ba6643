-- Takes back what limit.lua charged to one window, since another one, which
-- is on another node, was full.
--
-- KEYS: the window.  ARGV: "l" or "c", and the time that limit.lua returned.

if ARGV[1] == 'l' then
  return redis.call('ZREM', KEYS[1], ARGV[2])
end

-- A bucket that has ended meanwhile has it among those before.

local b = redis.call('HMGET', KEYS[1], 's', 'c', 'p')

if not b[1] then
  return 0
end

local field = ARGV[2] / 1000 < b[1] + 0 and 3 or 2

if b[field] + 0 < 1 then
  return 0
end

redis.call('HINCRBY', KEYS[1], field == 2 and 'c' or 'p', -1)
return 1
