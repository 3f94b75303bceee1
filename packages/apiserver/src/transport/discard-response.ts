// Discards a response that no client reads, and releases its resources.

import type { ByteSink, ResponseBody } from "./api-response.ts";

const CLOSED: ByteSink = { write: () => false, bufferedBytes: 0 };

/** Never rejects. */
export async function discardResponse(body: ResponseBody): Promise<void> {
  if (body.type !== "stream") return;
  try {
    await body.run(CLOSED, AbortSignal.abort());
  } catch {
    // That it could not be written is known.
  }
}
