-- Tries what the module needs of Redis, command by command, on a key that is of
-- no event and that nobody reads: the first that is refused, and why, or ''.
--
-- stream: 1 if admissions are to be written to streams; wall: what time it is by
-- the host's own clock, ms
--
-- keys: needs
-- args: stream wall
-- reply: refused why

local key = KEY.needs

-- The first one is a write, by which Redis says whether it has memory, and
-- whether it takes writes at all.  The key has one type after the other.
local tries = {
  { 'SET', key, '1', 'EX', '60' }, { 'MGET', key }, { 'EXISTS', key },
  { 'PERSIST', key }, { 'EXPIRE', key, '60' }, { 'PEXPIRE', key, '60000' },
  { 'RENAME', key, key }, { 'DEL', key },

  { 'HSET', key, 'a', '1' }, { 'HINCRBY', key, 'a', '1' }, { 'HGET', key, 'a' },
  { 'HMGET', key, 'a' }, { 'HGETALL', key }, { 'HDEL', key, 'b' },
  { 'UNLINK', key },

  { 'SETRANGE', key, '0', 'a' }, { 'GETRANGE', key, '0', '0' },
  { 'STRLEN', key }, { 'GETBIT', key, '1' }, { 'BITCOUNT', key },
  { 'BITPOS', key, '1' }, { 'BITOP', 'OR', key, key }, { 'UNLINK', key },

  { 'ZADD', key, '1', 'a' }, { 'ZSCORE', key, 'a' }, { 'ZCARD', key },
  { 'ZRANK', key, 'a' }, { 'ZRANGE', key, '0', '0' },
  { 'ZRANGEBYSCORE', key, '1', '1' }, { 'ZREMRANGEBYSCORE', key, '2', '2' },
  { 'ZUNIONSTORE', key, '1', key }, { 'ZREM', key, 'a' },

  { 'SADD', key, 'a' }, { 'SMEMBERS', key }, { 'SREM', key, 'a' },

  { 'TIME' },
}

if ARG.stream == '1' then
  tries[#tries + 1] = { 'XADD', key, '*', 'a', '1' }
  tries[#tries + 1] = { 'UNLINK', key }
end

for _, try in ipairs(tries) do
  local answer = redis.pcall(unpack(try))

  if type(answer) == 'table' and answer.err then
    if answer.err:find('READONLY', 1, true) then
      -- another node has to be asked
      return answer
    end
    return { [REPLY.refused] = try[1], [REPLY.why] = answer.err }
  end

  if try[1] == 'TIME' and math.abs(answer[1] * 1000 - ARG.wall) > 86400000 then
    return { [REPLY.refused] = 'TIME', [REPLY.why] = answer[1] }
  end
end

return { [REPLY.refused] = '', [REPLY.why] = '' }
