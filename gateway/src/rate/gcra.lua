-- One request against an account's rate: the same rule as `gateway/src/rate/gcra.rs`, decided and consumed in one step.
--
-- KEYS[1]  the account's state: the time at which its allowance is full again, in microseconds of Redis' clock
-- ARGV[1]  microseconds from one request to the next
-- ARGV[2]  microseconds that a whole allowance takes to fill
-- Answer   { 1 if it passes, else 0; microseconds until the allowance is full again }
--
-- All numbers stay below 2^53, where Lua's are exact.
local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local full_at = tonumber(redis.call('GET', KEYS[1]) or now)
local ahead = math.min(math.max(full_at - now, 0), burst)
if ahead + interval > burst then
  return { 0, ahead }
end
ahead = ahead + interval
-- A minute longer than it means anything: the expiry only cleans up.
local keep = math.ceil(ahead / 1000) + 60000
redis.call('SET', KEYS[1], string.format('%.0f', now + ahead), 'PX', string.format('%.0f', keep))
return { 1, ahead }
