// A real kubectl, a server for it, and what it asks of that server.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { kubectlClients } from "../../e2e/testing/kubectl-clients.ts";
import { kubectlWith, type Outcome, startTool, temporaryDirectory } from "../../e2e/testing/postern-process.ts";
import { type Api, KEYS, key, useServer } from "./api.ts";
import { createRequestRecorder, type RecordedRequest } from "./request-recorder.ts";

/** Older ones ask for other things in another order; what they print is looked at in the end-to-end tests. */
export const RECENT_MINOR = 32;
const client = (await kubectlClients()).clients.find(({ minor }) => minor >= RECENT_MINOR);
export const isKubectlMissing = client === undefined;
const program = client?.program ?? "kubectl";

/** As kubectl prints it. */
export const KIND = "ownedaccesskey.management.example.com";
/** Requests that kubectl makes for discovery. */
export const DISCOVERY = ["GET /api?timeout=32s", "GET /apis?timeout=32s"];
/** The document of a group is found under its hash, for good: only the list of documents is asked for each time. */
export const OPEN_API = ["GET /openapi/v3?timeout=32s"];

/** The path of a key. */
export const pathOf = (name: string): string => `${KEYS}/${name}`;

export type Run = Outcome & {
  /** Such as `GET /api?timeout=32s`, in the order in which they came. */
  readonly lines: readonly string[];
  readonly requests: readonly RecordedRequest[];
};

export const bodyOf = ({ requests }: Run, method: string) =>
  JSON.parse(requests.findLast((request) => request.method === method)?.body ?? "");
export const typeOf = ({ requests }: Run, method: string) =>
  requests.findLast((request) => request.method === method)?.header("content-type");

export type RecordedKubectl = {
  readonly api: Api;
  /** Runs kubectl to its end. `input` is the manifest that it reads with `-f -`. */
  kubectl(args: readonly string[], input?: JsonObject, cache?: string): Promise<Run>;
  /** Starts one that goes on by itself. */
  start(args: readonly string[]): ReturnType<typeof startTool>;
  /** The same, which opens this command as its editor. */
  startEditing(editor: string, args: readonly string[]): ReturnType<typeof startTool>;
  /** Requests of kubectl since the last time. */
  asked(): readonly RecordedRequest[];
  /** A folder in which nothing has been discovered. */
  newCache(): string;
};

/** One server and one kubectl for the cases of a file; what there is has been discovered already. */
export function useRecordedKubectl(): RecordedKubectl {
  const recorder = createRequestRecorder();
  const api = useServer({ observe: recorder.observe });
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let kubeConfig: string;
  let caches = 0;
  let cacheDir: string;

  const newCache = (): string => join(directory.path, `cache-${++caches}`);
  // Some distributions ask for the version first, to choose the kubectl that they run.
  const asked = () => recorder.take().filter((request) => request.header("user-agent").startsWith("kubectl/"));
  const flags = () => ["--kubeconfig", kubeConfig, "--cache-dir", cacheDir];
  const kubectl = async (args: readonly string[], input?: JsonObject, cache = cacheDir): Promise<Run> => {
    recorder.take();
    const outcome = await kubectlWith(kubeConfig, cache, program)(args, input && JSON.stringify(input));
    const requests = asked();
    return { ...outcome, requests, lines: requests.map(({ method, uri }) => `${method} ${uri}`) };
  };

  beforeAll(async () => {
    const { url, caFile } = api.server;
    directory = await temporaryDirectory();
    kubeConfig = join(directory.path, "config");
    await writeFile(
      kubeConfig,
      JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        clusters: [{ name: "c", cluster: { server: url, "certificate-authority": caFile } }],
        users: [{ name: "u", user: { token: "admin-token" } }],
        contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
        "current-context": "x",
      }),
    );
    cacheDir = newCache();
    await kubectl(["create", "--dry-run=server", "-f", "-"], key("first"));
  });

  afterAll(() => directory?.[Symbol.asyncDispose]());

  beforeEach(() => void recorder.take());

  return {
    api,
    kubectl,
    start(args) {
      recorder.take();
      return startTool(program, [...flags(), ...args]);
    },
    startEditing(editor, args) {
      recorder.take();
      return startTool("sh", ["-c", `KUBE_EDITOR='${editor}' exec "$0" "$@"`, program, ...flags(), ...args]);
    },
    asked,
    newCache,
  };
}
