// Talks to the conformance server as the requests say, over a connection of its own each: nothing is added, retried or hidden.

import type { IncomingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { singleUseAgent } from "../../e2e/testing/single-use-agent.ts";

export type WireRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: Buffer | string | undefined;
};

export type Answer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly warnings: readonly string[];
  /** False when the connection was cut before the end of the body. */
  readonly complete: boolean;
  /** The body as it came. */
  readonly bytes: Uint8Array;
  readonly text: string;
  /** Undefined when the body is not JSON. */
  readonly json: JsonValue | undefined;
};

/** A response whose body is still coming: resolves to the whole when the server has ended it. */
export type OpenAnswer = {
  readonly status: number;
  readonly finished: Promise<Answer>;
  /** Resolves when this many lines of the body have come, or it has ended. */
  lines(count: number): Promise<readonly string[]>;
  close(): void;
};

export type ConformanceClient = {
  send(request: WireRequest): Promise<Answer>;
  /** Resolves with the head of the response. */
  open(request: WireRequest): Promise<OpenAnswer>;
};

export type ClientOptions = { readonly url: string; readonly ca: string };

export function createConformanceClient({ url, ca }: ClientOptions): ConformanceClient {
  const { hostname, port } = new URL(url);
  const agent = singleUseAgent(ca);
  const open = ({ method, path, headers = {}, body }: WireRequest): Promise<OpenAnswer> =>
    new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { "Content-Length": String(Buffer.byteLength(body)) };
      const request = httpsRequest({
        hostname,
        port,
        path,
        method,
        agent,
        headers: { ...headers, ...length },
      });
      request.on("error", reject);
      request.on("response", (response) => resolve(openAnswer(response, () => request.destroy())));
      request.end(body);
    });
  return { open, send: async (request) => await (await open(request)).finished };
}

type Response = NodeJS.ReadableStream & {
  readonly statusCode?: number | undefined;
  readonly complete: boolean;
  readonly headers: IncomingHttpHeaders;
  readonly headersDistinct: NodeJS.Dict<string[]>;
};

function openAnswer(response: Response, close: () => void): OpenAnswer {
  const chunks: Buffer[] = [];
  const waiting = new Set<() => void>();
  let isOver = false;
  const text = (): string => Buffer.concat(chunks).toString("utf8");
  const wake = (): void => {
    for (const check of waiting) check();
  };
  const status = response.statusCode ?? 0;
  const finished = new Promise<Answer>((resolve) => {
    const end = (): void => {
      isOver = true;
      wake();
      const warnings = response.headersDistinct["warning"] ?? [];
      const bytes = Buffer.concat(chunks);
      resolve({
        status,
        headers: response.headers,
        warnings,
        complete: response.complete,
        bytes,
        text: text(),
        json: jsonOf(text()),
      });
    };
    response.on("end", end);
    response.on("error", end);
    response.on("close", end);
  });
  response.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    wake();
  });
  return {
    status,
    finished,
    close,
    lines: (count) =>
      new Promise((resolve) => {
        const check = (): void => {
          const lines = text().split("\n").slice(0, -1);
          if (lines.length < count && !isOver) return;
          waiting.delete(check);
          resolve(lines);
        };
        waiting.add(check);
        check();
      }),
  };
}

function jsonOf(text: string): JsonValue | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** The documents of a body with one to a line, such as the events of a watch. */
export const eventsOf = ({ text }: Answer): readonly JsonValue[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => jsonOf(line) ?? line);
