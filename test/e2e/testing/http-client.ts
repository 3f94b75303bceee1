// Sends single requests the way programs do that know nothing of Kubernetes: a path, a method, a body.

import { readFile } from "node:fs/promises";
import type { IncomingHttpHeaders } from "node:http";
import { type Agent, request } from "node:https";
import type { PosternProcess } from "./postern-process.ts";
import { singleUseAgent } from "./single-use-agent.ts";

export type Answer = {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The text parsed as JSON; undefined where it is none. */
  readonly body: any;
};

export type HttpRequest = {
  readonly method?: string;
  readonly key?: string | undefined;
  /** An object is sent as JSON, a text as it is. */
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
};

export type HttpClient = (path: string, options?: HttpRequest) => Promise<Answer>;

/** The key that the administrator's kubeconfig holds. */
export async function adminKey(server: PosternProcess): Promise<string> {
  const key = /token: (\S+)/.exec(await readFile(server.adminKubeconfig, "utf8"))?.[1];
  if (key === undefined) throw new Error("the administrator's kubeconfig holds no key");
  return key;
}

export async function httpClient(server: Pick<PosternProcess, "url" | "caFile">): Promise<HttpClient> {
  return agentClient(server.url, singleUseAgent(await readFile(server.caFile)));
}

/** Threads of servers end, as THREADS_END says, and the connections of one with it: what only reads is sent again. */
const DO_THREADS_END = process.env["THREADS_END"] !== undefined;
const PATIENCE_MS = 30_000;

/** Again until it succeeds, where threads of servers end; for work that may be done twice. Otherwise once. */
export async function insist<T>(work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!DO_THREADS_END || performance.now() - started > PATIENCE_MS) throw error;
    }
  }
}

/** Over the connections of an agent. */
export function agentClient(url: string, agent: Agent): HttpClient {
  const send = clientOfOneTry(url, agent);
  return (path, options = {}) => {
    const { method, body } = options;
    const doesRead = method === undefined ? body === undefined : method === "GET" || method === "HEAD";
    return doesRead ? insist(() => send(path, options)) : send(path, options);
  };
}

/** The same, and sends no request again, whatever ends: one that got no answer may have been served. */
export function clientOfOneTry(url: string, agent: Agent): HttpClient {
  return (path, { method, key, body, headers = {} } = {}) => {
    const content = typeof body === "object" ? `${JSON.stringify(body)}\n` : body;
    return new Promise((resolve, reject) => {
      const sent = request(
        `${url}${path}`,
        {
          agent,
          method: method ?? (body === undefined ? "GET" : "POST"),
          headers: {
            ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
            // Not every method gets a length from Node by itself.
            ...(content === undefined
              ? {}
              : { "content-type": "application/json", "content-length": String(Buffer.byteLength(content)) }),
            ...headers,
          },
        },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (chunk) => (text += chunk));
          response.on("error", reject);
          response.on("end", () => {
            resolve({ status: response.statusCode ?? 0, headers: response.headers, text, body: parsed(text) });
          });
        },
      );
      sent.on("error", reject);
      sent.end(content);
    });
  };
}

/** A response that goes on: what has come of it, and its end, however that comes. */
export type OpenResponse = {
  readonly status: number;
  text(): string;
  readonly ended: Promise<void>;
};

/** Resolves with the head of the response. */
export async function openResponse(server: PosternProcess, path: string, key: string): Promise<OpenResponse> {
  const ca = await readFile(server.caFile);
  return await new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}` };
    const sent = request(`${server.url}${path}`, { ca, agent: false, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => (text += chunk));
      response.on("error", () => undefined);
      const ended = new Promise<void>((end) => response.once("close", end));
      resolve({ status: response.statusCode ?? 0, text: () => text, ended });
    });
    sent.on("error", reject);
    sent.end();
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
