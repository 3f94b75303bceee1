// The whole server for a test: composed as in production, on a free port, with its store in memory where neither threads nor STORES need another one.

import { readFile } from "node:fs/promises";
import { Agent, request as httpsRequest } from "node:https";
import { parse } from "yaml";
import { type Configuration, loadConfiguration } from "../foundation/config/configuration.ts";
import type { RawValue } from "../foundation/config/option.ts";
import { type ServerSurroundings, startServer } from "../main.ts";
import { logToFile } from "./log-to-file.ts";
import { storeOfTests } from "./store-of-tests.ts";
import { temporaryDirectory } from "./temporary-directory.ts";
import { threadsOfTests } from "./threads-of-tests.ts";

export type PlatformCall = {
  /** Default: POST with a body, GET without one. */
  readonly method?: string;
  /** Below `/apis/management.postern/v1/`, unless it begins with a slash. */
  readonly path: string;
  /** Default: the administrator's key. */
  readonly key?: string | undefined;
  readonly body?: unknown;
  readonly headers?: { readonly [name: string]: string };
  /** PEM, instead of a key. */
  readonly certificate?: { readonly cert: string; readonly key: string };
};

export type PlatformAnswer = {
  readonly status: number;
  readonly text: string;
  readonly body: any;
  readonly headers: import("node:http").IncomingHttpHeaders;
  /** The texts of its Warning headers. */
  readonly warnings: readonly string[];
};

/** A stream that is open: what has come, and when it ended. */
export type OpenStream = {
  readonly status: number;
  text(): string;
  /** When the last byte came, by `performance.now()`. */
  lastByteAt(): number;
  readonly ended: Promise<void>;
};

export type RunningPlatform = Awaited<ReturnType<typeof startPlatform>>;

export async function startPlatform(
  flags: { readonly [flag: string]: RawValue } = {},
  surroundings: ServerSurroundings = {},
) {
  const temporary = await temporaryDirectory();
  const directory = temporary.path;
  const threads = threadsOfTests(directory, surroundings);
  const configuration: Configuration = await loadConfiguration({
    flags: new Map<string, RawValue>(
      Object.entries({
        ...{ store: "memory", "secure-port": "0", "data-dir": directory, "log-level": "debug" },
        ...threads.flags,
        ...("store" in flags ? {} : storeOfTests(directory)),
        ...flags,
      }),
    ),
    workingDirectory: directory,
  });
  const server = await startServer(configuration, {
    ...logToFile(directory),
    ...threads.surroundings,
    ...surroundings,
  });
  const ca = await readFile(server.caPath);
  const kubeConfig = parse(await readFile(server.adminKubeconfigPath, "utf8"));
  const adminKey: string = kubeConfig.users[0].user.token;
  const agent = new Agent({ ca, keepAlive: true });

  const begin = (call: PlatformCall, onResponse: (response: import("node:http").IncomingMessage) => void) =>
    new Promise<void>((resolve, reject) => {
      const { path, key = adminKey, body, headers = {}, certificate } = call;
      const { method = body === undefined ? "GET" : "POST" } = call;
      const isAsSent = body === undefined || typeof body === "string" || Buffer.isBuffer(body);
      const text = isAsSent ? body : JSON.stringify(body);
      const request = httpsRequest(
        new URL(path.startsWith("/") ? path : `/apis/management.postern/v1/${path}`, server.url),
        {
          method,
          ...(certificate === undefined ? { agent } : { ca, ...certificate, agent: false }),
          headers: {
            ...(certificate === undefined && key !== "" ? { authorization: `Bearer ${key}` } : {}),
            ...(text === undefined
              ? {}
              : {
                  "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json",
                  // Not every method gets a length from Node by itself.
                  "content-length": String(Buffer.byteLength(text)),
                }),
            ...headers,
          },
        },
        (response) => {
          onResponse(response);
          resolve();
        },
      );
      request.on("error", reject);
      request.end(text);
    });

  const send = (call: PlatformCall): Promise<PlatformAnswer> =>
    new Promise((resolve, reject) => {
      begin(call, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          const isJson = text.startsWith("{");
          const body = isJson ? JSON.parse(text) : undefined;
          const { statusCode: status = 0, headers } = response;
          resolve({ status, text, body, headers, warnings: warningsOf(response) });
        });
      }).catch(reject);
    });

  return {
    server,
    directory,
    configuration,
    adminKey,
    send,
    /** Creates an object at a path such as `users`; throws where it is refused. */
    async create(path: string, object: object): Promise<any> {
      const { status, text, body } = await send({ path, body: object });
      if (status !== 201) throw new Error(text);
      return body;
    },
    /** Asks until the answer is as it should be. */
    async until(call: PlatformCall, holds: (answer: PlatformAnswer) => boolean): Promise<void> {
      while (!holds(await send(call))) await new Promise((resolve) => setImmediate(resolve));
    },
    /** Resolves with the head of an answer that goes on, or with its first bytes. */
    async open(call: PlatformCall, first: "head" | "bytes" = "bytes"): Promise<OpenStream> {
      return await new Promise((resolve, reject) => {
        begin(call, (response) => {
          let text = "";
          let lastByteAt = performance.now();
          const ended = new Promise<void>((end) => {
            response.once("close", end);
            response.once("error", () => end());
          });
          const stream = { status: response.statusCode ?? 0, text: () => text, lastByteAt: () => lastByteAt, ended };
          response.on("data", (chunk: Buffer) => {
            lastByteAt = performance.now();
            text += chunk.toString();
            resolve(stream);
          });
          void ended.then(() => resolve(stream));
          if (first === "head") resolve(stream);
        }).catch(reject);
      });
    },
    async [Symbol.asyncDispose]() {
      agent.destroy();
      await server.close();
      await temporary[Symbol.asyncDispose]();
    },
  };
}

/** Node.js gives headers that come several times as one text, in which a comma can also be part of a warning. */
const warningsOf = ({ rawHeaders }: import("node:http").IncomingMessage): readonly string[] =>
  rawHeaders.flatMap((value, at) =>
    at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === "warning"
      ? [JSON.parse(value.slice(value.indexOf('"'))) as string]
      : [],
  );
