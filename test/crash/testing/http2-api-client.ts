// Sends requests over a few HTTP/2 connections, however many wait for an answer at once; opens one again when the server has closed it.

import { type ClientHttp2Session, connect, constants } from "node:http2";
import { StorageUnavailableError } from "@postern/apiserver/storage/storage-errors";
import type { ApiClient } from "./api-client.ts";
import { NothingDoneError } from "./record-history.ts";

const CONNECTIONS = 4;
const TIMEOUT_MS = 60_000;

/** `ca` in PEM. */
export function http2ApiClient(url: string, ca: string): ApiClient {
  const sessions: (ClientHttp2Session | undefined)[] = Array.from({ length: CONNECTIONS }, () => undefined);
  let sentTo = 0;
  const nextSession = (): ClientHttp2Session => {
    const index = sentTo++ % CONNECTIONS;
    const known = sessions[index];
    if (known !== undefined && !known.closed && !known.destroyed) return known;
    const session = connect(url, { ca });
    // Each of its streams fails, too.
    session.on("error", () => undefined).setMaxListeners(0);
    sessions[index] = session;
    return session;
  };
  return {
    send: (path, { method, key, body, form, headers: more = {}, contentType: type, timeoutMs = TIMEOUT_MS } = {}) =>
      new Promise((resolve, reject) => {
        const content = form !== undefined ? new URLSearchParams(form).toString() : body && JSON.stringify(body);
        const contentType = type ?? (form === undefined ? "application/json" : "application/x-www-form-urlencoded");
        const stream = nextSession().request(
          {
            ":method": method ?? (content === undefined ? "GET" : "POST"),
            ":path": path,
            ...more,
            ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
            ...(content === undefined ? {} : { "content-type": contentType }),
          },
          { endStream: content === undefined },
        );
        const timer = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), timeoutMs);
        let [status, text, isWhole] = [0, "", false];
        let failure: (Error & { readonly code?: string }) | undefined;
        stream.on("error", (error) => (failure = error));
        stream.on("response", (head) => (status = head[":status"] ?? 0));
        stream.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        stream.on("end", () => (isWhole = true));
        stream.on("close", () => {
          clearTimeout(timer);
          if (isWhole && status !== 0 && failure === undefined) resolve({ status, body: parsed(text) });
          else if (failure?.code === "ECONNREFUSED") reject(new NothingDoneError());
          else reject(new StorageUnavailableError("no answer", { cause: failure }));
        });
        if (content !== undefined) stream.end(content);
      }),
    [Symbol.dispose]() {
      for (const session of sessions) session?.destroy();
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
