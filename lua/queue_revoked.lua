-- Up to when entry tokens of a user are refused (us), and when the user's
-- session ends (ms); 0: none is, there is none.  Asked by a host that had to
-- forget some of it.
--
-- keys: revoked state active
-- args: user
-- reply: revoked expires

local call = redis.call

local revoked = (call('ZSCORE', KEY.revoked, ARG.user) or 0) + 0
local clear = (call('HGET', KEY.state, 'clear') or 0) + 0
local expires = (call('ZSCORE', KEY.active, ARG.user) or 0) + 0

return { [REPLY.revoked] = math.max(revoked, clear),
         [REPLY.expires] = expires }
