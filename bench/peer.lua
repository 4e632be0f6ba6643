-- The peer: the same work in Lua, as one would write it with what Debian
-- packages (lua-resty-core, lua-nginx-redis, lua-cjson, OpenSSL by FFI).
-- peer_conf.lua has secrets and the port of Redis, command.lua how the
-- module calls the script: keys and arguments are the same.

local base64 = require "ngx.base64"
local cjson = require "cjson.safe"
local ffi = require "ffi"
local redis = require "nginx.redis"

local conf = require "peer_conf"
local command = require "command"

ffi.cdef [[
typedef struct evp_md_st EVP_MD;
const EVP_MD *EVP_sha256(void);
unsigned char *HMAC(const EVP_MD *md, const void *key, int key_len,
                    const unsigned char *data, size_t n, unsigned char *mac,
                    unsigned int *mac_len);
]]

local C = ffi.C
local sha256 = C.EVP_sha256()
local mac, mac_len = ffi.new("unsigned char[64]"), ffi.new("unsigned int[1]")

local HEADER = base64.encode_base64url('{"alg":"HS256","typ":"JWT"}')
local ACTIVE_IN = 2

local _M = {}


local function signature(text, secret)
   C.HMAC(sha256, secret, #secret, text, #text, mac, mac_len)
   return base64.encode_base64url(ffi.string(mac, mac_len[0]))
end


local function sign(claims, secret)
   local text = HEADER .. "." .. base64.encode_base64url(cjson.encode(claims))
   return text .. "." .. signature(text, secret)
end


local function verify(token, secret)
   if not token or #token > 4096 then
      return nil
   end

   local header, payload, given = token:match("^([^.]+)%.([^.]+)%.([^.]+)$")
   if not header then
      return nil
   end

   local decoded = cjson.decode(base64.decode_base64url(header) or "")
   if type(decoded) ~= "table" or decoded.alg ~= "HS256" then
      return nil
   end

   if signature(header .. "." .. payload, secret) ~= given then
      return nil
   end

   local claims = cjson.decode(base64.decode_base64url(payload) or "")
   if type(claims) ~= "table" or type(claims.exp) ~= "number"
      or claims.exp + 5 <= ngx.time()
   then
      return nil
   end

   return claims
end


local function user()
   local claims = verify(ngx.var.cookie_access_token, conf.user_secret)
   if claims then
      return claims.userId or claims.sub, claims
   end
end


local function answer(status, body)
   local text = cjson.encode(body)
   ngx.status = status
   ngx.header["Content-Type"] = "application/json"
   ngx.header["Cache-Control"] = "no-store"
   ngx.header["Content-Length"] = #text
   ngx.print(text)
   return ngx.exit(status)
end


function _M.gate()
   local id, claims = user()
   if not id then
      return ngx.exit(403)
   end

   local event = ngx.var.event_id
   local entry = verify(ngx.var["cookie_urr-entry-token-" .. event]
                        or ngx.var["cookie_urr-entry-token"],
                        conf.tier2_secret)
   if not entry or entry.sub ~= event or entry.uid ~= id or entry.tier ~= 2
   then
      return ngx.exit(403)
   end

   ngx.req.set_header("X-User-Id", id)
   ngx.req.set_header("X-User-Email", claims.email)
   ngx.req.set_header("X-User-Role", claims.role)
   ngx.req.set_header("X-Admission-Event", entry.sub)
   ngx.req.set_header("Authorization",
                      "Bearer " .. ngx.var.cookie_access_token)
end


local function run(event, id)
   local args = {}
   for i, name in ipairs(command.keys) do
      args[i] = "{" .. event .. "}:" .. name
   end

   local n = #args
   for i, value in ipairs(command.args) do
      args[n + i] = value
   end
   args[n + command.event_at] = event
   args[n + command.user_at] = id

   local red = redis:new()
   red:set_timeout(5000)

   local ok, err = red:connect("127.0.0.1", conf.redis_port)
   if not ok then
      return nil, err
   end

   local reply
   reply, err = red:evalsha(command.sha, n, unpack(args))
   if reply then
      red:set_keepalive(60000, 256)
   end
   return reply, err
end


local function next_poll(position)
   if position <= 1000 then return 1 end
   if position <= 5000 then return 5 end
   if position <= 10000 then return 10 end
   return position <= 100000 and 30 or 60
end


local function cookie(name, value, age)
   ngx.header["Set-Cookie"] = name .. "=" .. value .. "; Path=/; Max-Age="
                              .. age .. "; HttpOnly; SameSite=Lax"
end


function _M.check()
   local id = user()
   if not id then
      return answer(401, { error = "User required", code = "USER_REQUIRED" })
   end

   local event = ngx.var.uri:match("/([A-Za-z0-9._-]+)$")
   if not event or #event > 64 then
      return answer(400, { error = "Bad event", code = "INVALID_EVENT" })
   end
   event = event:lower()

   local r, err = run(event, id)
   if not r then
      ngx.log(ngx.ERR, "redis: ", err)
      return answer(503, { error = "Unavailable", code = "UNAVAILABLE" })
   end

   local position, size, active, threshold = r[2], r[3], r[4], r[5]
   local now = math.floor(r[6] / 1000000)

   if r[1] == ACTIVE_IN then
      local exp = math.min(now + 600, math.floor(r[11] / 1000) - 5)
      local token = sign({ sub = event, uid = id, tier = 2, adm = r[10],
                           iat = now, exp = exp }, conf.tier2_secret)
      cookie("urr-entry-token-" .. event, token, exp - now)

      return answer(200, {
         status = "active", queued = false, currentUsers = active,
         threshold = threshold, nextPoll = 3, entryToken = token,
         eventInfo = {}
      })
   end

   local place = sign({ sub = event, uid = id, score = r[9], at = r[7],
                        epoch = r[8], iat = now, exp = now + 86400 },
                      conf.tier2_secret)
   cookie("urr-queue-place-" .. event, place, 86400)

   local rate = r[12]
   return answer(200, {
      status = "queued", queued = true, position = position,
      peopleAhead = position - 1, peopleBehind = size - position,
      queueSize = size, currentUsers = active, threshold = threshold,
      estimatedWait = rate > 0 and math.ceil(position * 1000 / rate)
                      or math.max(math.floor(position / 50), 5),
      nextPoll = next_poll(position), eventInfo = {}, place = place
   })
end


-- one limit of 30 requests a minute, by the argument k

function _M.limit()
   local red = redis:new()
   red:set_timeout(5000)

   local ok, err = red:connect("127.0.0.1", conf.redis_port)
   if not ok then
      return ngx.exit(503)
   end

   local reply
   reply, err = red:evalsha(require("limit_sha"), 1,
                            "rate:peer:" .. ngx.var.arg_k,
                            "l", "30", "60000", "0")
   if not reply then
      ngx.log(ngx.ERR, "redis: ", err)
      return ngx.exit(503)
   end
   red:set_keepalive(60000, 256)

   local left = reply[2]
   local wait = math.max(1, math.ceil(reply[3] / 1000))

   ngx.header["RateLimit-Policy"] = '"peer";q=30;w=60'
   ngx.header["RateLimit"] = '"peer";r=' .. math.max(0, left)
                             .. ";t=" .. wait
   if left < 0 then
      ngx.header["Retry-After"] = wait
      return answer(429, { error = "Too many requests",
                           code = "RATE_LIMITED", retryAfter = wait })
   end
end


return _M
