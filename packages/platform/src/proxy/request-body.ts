// Hands the body of a request on as it arrives, no faster than the target takes it.

import type { ClientRequest } from "node:http";
import type { Readable } from "node:stream";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";

/** Undefined when the request has no body. An HTTP/2 request need not say so in advance: its first bytes, or its end, are awaited. */
export async function bodyOf(request: ApiRequest): Promise<Readable | undefined> {
  const length = request.headers["content-length"];
  const isChunked = request.headers["transfer-encoding"] !== undefined;
  if (length === "0" || (length === undefined && !isChunked && request.httpVersion === "1.1")) return undefined;
  // Node's streams all are; the port names less.
  const stream = request.bodyStream() as Readable;
  return length === undefined && !isChunked && !(await hasContent(stream)) ? undefined : stream;
}

/** Ends `upstream` with the body. A body that breaks off breaks the request off: it never looks whole. */
export function pipeBody(body: Readable, upstream: ClientRequest): void {
  const onClose = (): void => {
    if (!body.readableEnded) upstream.destroy();
  };
  const onError = (): void => void upstream.destroy();
  body.on("close", onClose).on("error", onError);
  upstream.once("close", () => {
    body.off("close", onClose);
    body.unpipe(upstream);
  });
  body.pipe(upstream);
}

function hasContent(stream: Readable): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (content: boolean): void => {
      stream.off("readable", onReadable).off("end", onEnd).off("close", onEnd).off("error", onEnd);
      resolve(content);
    };
    const onEnd = (): void => settle(false);
    const onReadable = (): void => {
      const chunk: unknown = stream.read();
      if (chunk === null) return;
      stream.unshift(chunk);
      settle(true);
    };
    if (stream.readableEnded || stream.destroyed) resolve(false);
    else stream.on("readable", onReadable).on("end", onEnd).on("close", onEnd).on("error", onEnd);
  });
}
