// Sends requests for one resource straight to a surface, and reads what it answers.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { Handler } from "../../context/request-context.ts";
import { createTestContext } from "../../testing/test-context.ts";
import type { ApiResponse, ByteSink } from "../../transport/api-response.ts";
import type { ResourceDefinition } from "../resource-definition.ts";

export type SuiteReply = {
  readonly status: number;
  readonly warnings: readonly string[];
  readonly json: any;
};

export type SuiteRequest = {
  /** Default: JSON. */
  readonly contentType?: string;
  readonly accept?: string;
};

/** A watch that has begun. */
export type SuiteWatch = Disposable & {
  /** Resolves with the next event. */
  next(): Promise<{ readonly type: string; readonly object: any }>;
};

export type SuiteClient = {
  /** `path` comes behind the resource: "" for the collection, "/name", "/name/status"; with a query where there is one. */
  send(
    method: string,
    path: string,
    body?: JsonObject | readonly JsonObject[],
    request?: SuiteRequest,
  ): Promise<SuiteReply>;
  watch(query: string): Promise<SuiteWatch>;
};

export function createSuiteClient(
  route: Handler,
  { group, version, plural, namespaced }: ResourceDefinition,
  namespace: string,
): SuiteClient {
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const collection = `${root}${namespaced ? `/namespaces/${namespace}` : ""}/${plural}`;
  return {
    async send(method, path, body, { contentType = "application/json", accept = "application/json" } = {}) {
      const context = createTestContext({
        method,
        url: `${collection}${path}`,
        headers: { accept, "user-agent": "suite/1.0", ...(body === undefined ? {} : { "content-type": contentType }) },
        body,
      });
      try {
        const response = await route(context);
        return { status: response.status, warnings: context.warnings.texts, json: await jsonOf(response) };
      } catch (error) {
        if (!isApiError(error)) throw error;
        return { status: error.code, warnings: context.warnings.texts, json: error.toStatus() };
      }
    },
    async watch(query) {
      const context = createTestContext({ url: `${collection}?watch=true&${query}` });
      return openWatch(await route(context));
    },
  };
}

async function jsonOf({ body }: ApiResponse): Promise<unknown> {
  if (body.type === "upgraded") throw new Error("the suite opens no other protocols");
  if (body.type === "bytes") return parse(Buffer.from(body.bytes).toString());
  const chunks: Buffer[] = [];
  await body.run(
    sinkTo((chunk) => chunks.push(chunk)),
    new AbortController().signal,
  );
  return parse(Buffer.concat(chunks).toString());
}

const parse = (text: string): unknown => (text === "" ? undefined : JSON.parse(text));

const sinkTo = (take: (chunk: Buffer) => void): ByteSink => ({
  bufferedBytes: 0,
  write(chunk) {
    take(Buffer.from(chunk));
    return true;
  },
});

function openWatch({ body }: ApiResponse): SuiteWatch {
  if (body.type !== "stream") throw new Error("a watch is answered with a stream");
  const events: { readonly type: string; readonly object: unknown }[] = [];
  const waiting: ((event: { readonly type: string; readonly object: unknown }) => void)[] = [];
  const end = new AbortController();
  const take = (chunk: Buffer): void => {
    for (const line of chunk
      .toString()
      .split("\n")
      .filter((text) => text !== "")) {
      const event = JSON.parse(line);
      const resolve = waiting.shift();
      if (resolve === undefined) events.push(event);
      else resolve(event);
    }
  };
  void body.run(sinkTo(take), end.signal);
  return {
    next: () =>
      new Promise((resolve) => {
        const event = events.shift();
        if (event === undefined) waiting.push(resolve);
        else resolve(event);
      }),
    [Symbol.dispose]: () => end.abort(),
  };
}
