// One request to a server, and the text of its response.

import { request } from "node:https";
import type { Target } from "../load/order.ts";

/** A response that is not successful. */
export class RefusedError extends Error {
  readonly status: number;
  readonly body: string;

  constructor(asked: string, status: number, body: string) {
    super(`${asked}: ${status} ${body}`);
    this.status = status;
    this.body = body;
  }
}

/** Rejects with a `RefusedError` if the response is not successful. */
export function askText({ url, ca, token }: Target, method: string, path: string, body?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body === undefined
        ? {}
        : { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) }),
    };
    const asked = request(`${url}${path}`, { method, headers, ...(ca === undefined ? {} : { ca }) }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const { statusCode = 0 } = response;
        if (statusCode >= 200 && statusCode < 300) resolve(text);
        else reject(new RefusedError(`${method} ${path}`, statusCode, text));
      });
    });
    asked.on("error", reject);
    asked.end(body);
  });
}
