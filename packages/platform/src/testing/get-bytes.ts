// One request without a credential, and the bytes of its answer as they were sent.

import { Agent, request } from "node:https";

export type BytesAnswer = {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly body: Buffer;
};

/** Each request has a connection of its own. A server closes some of those that one address opens at once. */
const FEW_AT_ONCE = new Agent({ maxSockets: 32 });

export const getBytes = (url: URL, headers: Record<string, string> = {}, method = "GET"): Promise<BytesAnswer> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, rejectUnauthorized: false, agent: FEW_AT_ONCE }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("error", reject);
      answer.on("end", () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks) }),
      );
    });
    sent.on("error", reject);
    sent.end();
  });
