// One kubectl, and a server with the kubeconfigs of both its API surfaces: the management API, and an embedded virtual cluster.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { lastingPortFlags } from "@postern/stores/testing/lasting-ports";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type KubectlOnStore, type KubectlSession, kubectlSession } from "./kubectl-clients.ts";
import { type PosternProcess, startPostern, temporaryDirectory } from "./postern-process.ts";

const DEMO = "/apis/management.postern/v1/namespaces/p-default/virtualclusterinstances/demo/kubeconfig";

/** Paths and the server are known from the first test on. */
export type KubectlSurfaces = {
  /** The path of a file of that name, in a folder that goes with the tests. */
  file(name: string): string;
  /** Paths of kubeconfigs with the administrator's key. */
  managementConfig(): string;
  virtualClusterConfig(): string;
  readonly management: KubectlSession;
  readonly inside: KubectlSession;
  /** With the kubeconfig of that file name, which a test writes. */
  session(name: string): KubectlSession;
  /** Stops the server, and starts it on the same store and port again. Resolves with the exit code. */
  restart(): Promise<number | NodeJS.Signals>;
  /** A test for kubectls that have `line` since that release; of older ones the test is that they say so. */
  since(minor: number, name: string, line: string, works: () => Promise<void>): void;
};

/** For the tests of one `describe`. */
export function useKubectlSurfaces({ program, minor, newStore }: KubectlOnStore): KubectlSurfaces {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let server: PosternProcess;
  let flags: readonly string[];
  const file = (name: string): string => join(directory.path, name);
  const sessionWith = (config: () => string) => kubectlSession(config, () => file("cache"), program);
  const managementConfig = (): string => server.adminKubeconfig;
  const virtualClusterConfig = (): string => file("demo.kubeconfig");
  const management = sessionWith(managementConfig);
  const inside = sessionWith(virtualClusterConfig);

  beforeAll(async () => {
    directory = await temporaryDirectory();
    flags = [...newStore(), ...(await lastingPortFlags())];
    server = await startPostern(file("data"), flags);
    const { status } = JSON.parse(await management.run(`create --raw ${DEMO} -f -`, "{}"));
    await writeFile(virtualClusterConfig(), status.kubeConfig, { mode: 0o600 });
  });

  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await directory?.[Symbol.asyncDispose]();
  });

  return {
    file,
    managementConfig,
    virtualClusterConfig,
    management,
    inside,
    session: (name) => sessionWith(() => file(name)),
    async restart() {
      const code = await server.stop();
      server = await startPostern(server.dataDir, flags);
      return code;
    },
    since(least, name, line, works) {
      if (minor >= least) return it(name, works);
      it(`${name}: not before kubectl 1.${least}, which says so`, async () => {
        expect(await inside.fails(line)).toMatch(
          /unknown (command|flag)|unrecognized|must specify one of -f and -k|before plugin name/i,
        );
      });
    },
  };
}
