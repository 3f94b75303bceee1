// Kubeconfig generators of the project shop, and what they give, as clients of a server see them.

import { expect, vi } from "vitest";
import { type Answered, type AttackedServer, MERGE } from "./attacking.ts";

export const SPACE = "p-shop";
export const GENERATORS = `namespaces/${SPACE}/kubeconfiggenerators`;
export const SECRETS = `/api/v1/namespaces/${SPACE}/secrets`;
/** Of virtual clusters that most generators of the tests select. */
export const DEV = { matchLabels: { env: "dev" } };
export const WAIT = { timeout: 10_000, interval: 20 };

/** A path inside of a virtual cluster of the project. */
export const inside = (cluster: string, path = "api/v1/namespaces"): string =>
  `/kubernetes/project/shop/virtualcluster/${cluster}/${path}`;

export type Generating = ReturnType<typeof generatingOn>;

export function generatingOn(server: Pick<AttackedServer, "send" | "must">) {
  const generate = (as: string, name: string, spec: object = {}): Promise<Answered> =>
    server.send({
      path: GENERATORS,
      as,
      body: { metadata: { name }, spec: { selector: DEV, secretRef: { name }, ...spec } },
    });
  const stateOf = async (name: string): Promise<any> => await server.must({ path: `${GENERATORS}/${name}` });
  const textOf = async (secret: string, key = "config"): Promise<string> => {
    const { data } = await server.must({ path: `${SECRETS}/${secret}` });
    return Buffer.from(data[key], "base64").toString();
  };
  /** The reason of its condition Ready. */
  async function reason(name: string): Promise<string> {
    const { metadata, status } = await stateOf(name);
    const ready = status?.conditions?.find(({ type }: { type: string }) => type === "Ready");
    return status?.observedGeneration === metadata.generation ? (ready?.reason ?? "") : "";
  }
  return {
    ...{ generate, stateOf, textOf, reason },
    async generated(as: string, name: string, spec: object = {}): Promise<void> {
      const answer = await generate(as, name, spec);
      expect(answer.status, answer.text).toBe(201);
    },
    /** Until its condition Ready has the reason. */
    async until(name: string, expected: string): Promise<void> {
      await vi.waitFor(async () => expect(await reason(name)).toBe(expected), WAIT);
    },
    tokensOf: async (secret: string): Promise<readonly string[]> =>
      [...(await textOf(secret)).matchAll(/token: (\S+)/g)].map(([, token = ""]) => token),
    statusOf: async (as: string, path: string, body?: object): Promise<number> =>
      (await server.send({ path, as, ...(body === undefined ? {} : { body }) })).status,
    change: (as: string, name: string, spec: object): Promise<Answered> =>
      server.send({ method: "PATCH", path: `${GENERATORS}/${name}`, as, headers: MERGE, body: { spec } }),
  };
}
