// Loaded before a gateway in Node: it listens on the loopback interface only, whatever its settings are, and
// its answers have headers that can be changed, which those of Node 20's fetch cannot.
// ADDED_HEADERS (JSON) are added to every request: a gateway reads its settings there, and a recording should
// not have them.
const http = require("node:http");
const net = require("node:net");

const { listen } = net.Server.prototype;
net.Server.prototype.listen = function (...given) {
  const [first] = given;
  if (first !== null && typeof first === "object") {
    given[0] = { ...first, host: "127.0.0.1" };
  } else {
    given.splice(1, typeof given[1] === "string" ? 1 : 0, "127.0.0.1");
  }
  return listen.apply(this, given);
};

const { fetch: send } = globalThis;
globalThis.fetch = async (...given) => {
  const answer = await send(...given);
  return new Response(answer.body, answer);
};

const added = Object.entries(JSON.parse(process.env.ADDED_HEADERS ?? "{}"));
const { emit } = http.Server.prototype;
http.Server.prototype.emit = function (name, ...given) {
  if (name === "request") {
    for (const [key, value] of added) {
      given[0].headers[key] = value;
      given[0].rawHeaders.push(key, value);
    }
  }
  return emit.call(this, name, ...given);
};
