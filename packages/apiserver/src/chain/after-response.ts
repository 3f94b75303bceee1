// Learns when the whole of a response has been written, which for a stream is long after it was made.

import type { ApiResponse, ResponseBody } from "../transport/api-response.ts";

/** Calls `done` once: at once for bytes, else when the stream or the upgraded connection is over. */
export function afterResponse(response: ApiResponse, done: () => void): ApiResponse {
  const { body } = response;
  if (body.type === "bytes") {
    done();
    return response;
  }
  return { ...response, body: body.type === "stream" ? afterStream(body, done) : afterUpgrade(body, done) };
}

function afterStream({ run }: Extract<ResponseBody, { type: "stream" }>, done: () => void): ResponseBody {
  return {
    type: "stream",
    async run(sink, signal) {
      try {
        await run(sink, signal);
      } finally {
        done();
      }
    },
  };
}

const afterUpgrade = (body: Extract<ResponseBody, { type: "upgraded" }>, done: () => void): ResponseBody => ({
  type: "upgraded",
  done: body.done.finally(done),
});
