// Reads of a body are cut behind every CR. Whether a CR LF that was sent in two pieces comes in two reads is a matter of
// timing; a library that loses such a pair would fail in one run and pass in the next. With this in front of `fetch` a
// trial has one verdict.

const CR = 13;
const fetched = globalThis.fetch;

globalThis.fetch = async (...asked) => {
  const response = await fetched(...asked);
  if (!response.body) return response;
  const cut = new TransformStream({
    transform(read, out) {
      let rest = read;
      for (let at = rest.indexOf(CR); at >= 0 && at + 1 < rest.length; at = rest.indexOf(CR)) {
        out.enqueue(rest.subarray(0, at + 1));
        rest = rest.subarray(at + 1);
      }
      out.enqueue(rest);
    },
  });
  return new Response(response.body.pipeThrough(cut), response);
};
