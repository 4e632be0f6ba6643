local call = redis.call

-- of another type, or of another algorithm
local function is_other(reply)
  return reply.err:find('WRONGTYPE', 1, true)
end

-- Takes back what was charged to a window, of so many ms, at a time, us.
-- Returns an error, if any.

local function back(key, log, window, at)
  if log then
    local n = redis.pcall('ZREM', key, at)
    return type(n) == 'table' and not is_other(n) and n
  end

  local b = redis.pcall('HMGET', key, 's', 'c', 'p')

  if b.err then
    return not is_other(b) and b
  end

  -- A bucket that has ended meanwhile has it among those before.

  local start = tonumber(b[1])
  local age = start and at / 1000 - start
  local field = age and (age >= 0 and 'c' or age >= -window and 'p')

  if field and (tonumber(b[field == 'c' and 2 or 3]) or 0) >= 1 then
    call('HINCRBY', key, field, '-1')
  end
end
