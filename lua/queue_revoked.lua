-- Up to when entry tokens of a user are refused (us), and when the user's slot
-- ends (ms); 0: none is, there is none.  Asked by a host that had to forget
-- some of it.

local call = redis.call

local revoked = (call('ZSCORE', KEYS[1], ARGV[1]) or 0) + 0
local clear = (call('HGET', KEYS[2], 'clear') or 0) + 0
local expires = (call('ZSCORE', KEYS[3], ARGV[1]) or 0) + 0

return { math.max(revoked, clear), expires }
