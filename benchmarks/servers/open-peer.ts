// A kube-apiserver beside Postern, which serves objects of the same shape by a CustomResourceDefinition.

import { readFileSync } from "node:fs";
import { connect } from "node:http2";
import {
  definitionManifest,
  definitionVersion,
} from "@postern/kubernetes/custom-resources/testing/definition-manifest";
import type { Target } from "../load/order.ts";
import { COLLECTION, GROUP } from "./access-key-object.ts";
import type { MeasuredServer } from "./measured-server.ts";

const CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const ESTABLISHING_MS = 200;
const ATTEMPTS = 100;

const DEFINITION = definitionManifest(
  { group: GROUP, kind: "OwnedAccessKey", plural: "ownedaccesskeys" },
  definitionVersion("v1", {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          displayName: { type: "string" },
          description: { type: "string" },
          ttl: { type: "integer", format: "int64" },
        },
      },
    },
  }),
);

/** Options of a command that compares with a peer: its address, a token of an administrator, a file with its CA, and the ID of its process. */
export const PEER_OPTIONS = {
  peer: { type: "string" },
  "peer-ca": { type: "string" },
  "peer-pid": { type: "string" },
  token: { type: "string", default: "" },
} as const;

type PeerOptions = {
  readonly peer?: string;
  readonly "peer-ca"?: string;
  readonly "peer-pid"?: string;
  readonly token: string;
};

/** Resolves when the peer serves the resource, and without a peer. Rejects if it refuses the definition. */
export async function openPeer(options: PeerOptions): Promise<MeasuredServer | undefined> {
  const { peer: url, "peer-ca": ca, "peer-pid": pid, token } = options;
  if (url === undefined) return undefined;
  const target = { url, token, ...(ca === undefined ? {} : { ca: readFileSync(ca, "utf8") }) };
  await serveDefinition(target);
  return { target, ...(pid === undefined ? {} : { pid: Number(pid) }) };
}

async function serveDefinition(target: Target): Promise<void> {
  const created = await ask(target, "POST", CRD_PATH, JSON.stringify(DEFINITION));
  if (created !== 201 && created !== 409) throw new Error(`the peer refused the definition: ${created}`);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if ((await ask(target, "GET", `${COLLECTION}?limit=1`)) === 200) return;
    await new Promise((resolve) => setTimeout(resolve, ESTABLISHING_MS));
  }
  throw new Error("the peer does not serve the resource");
}

function ask({ url, ca, token }: Target, method: string, path: string, body?: string): Promise<number> {
  const session = connect(url, ca === undefined ? { rejectUnauthorized: false } : { ca });
  return new Promise<number>((resolve, reject) => {
    session.on("error", reject);
    const stream = session.request({
      ":method": method,
      ":path": path,
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
    });
    stream.on("response", (headers) => resolve(headers[":status"] ?? 0));
    stream.on("error", reject);
    stream.resume();
    stream.end(body);
  }).finally(() => session.close());
}
