// Wraps `fetch` so that reads of a body are split after every CR. Whether a CR LF sent in two pieces arrives in one read or two
// depends on timing, so a library that loses a split CR LF would fail in one run and pass in the next. Splitting all of them
// makes each trial's verdict repeatable.

const CR = 13;
const originalFetch = globalThis.fetch;

globalThis.fetch = async (...args) => {
  const response = await originalFetch(...args);
  if (!response.body) return response;
  const splitter = new TransformStream({
    transform(bytes, controller) {
      let rest = bytes;
      for (let at = rest.indexOf(CR); at >= 0 && at + 1 < rest.length; at = rest.indexOf(CR)) {
        controller.enqueue(rest.subarray(0, at + 1));
        rest = rest.subarray(at + 1);
      }
      controller.enqueue(rest);
    },
  });
  return new Response(response.body.pipeThrough(splitter), response);
};
