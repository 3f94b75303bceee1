// Writes the values of access keys from bootstrap manifests into files for the operator.

import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { PlatformNames } from "@postern/api/platform-names";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { buildKubeconfig } from "../foundation/kubeconfig/kubeconfig.ts";
import { readFileIfPresent, replacePrivateFile } from "../foundation/pki/private-file.ts";

const WHAT = "the value of an access key";
const FILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
const KUBE_CONFIG = /\.(?:kubeconfig|yaml)$/;
const TOKEN_LINE = /^ *token: (\S+)$/m;
/** Suffix of the file with a value that may not be in the store yet. */
const PENDING = ".pending";

/** Where in the data directory the files are. */
export const KEY_FILES = "bootstrap";

/** The annotation of an access key that names its file, such as `postern/bootstrap-file`. */
export const keyFileAnnotation = (names: Pick<PlatformNames, "key">): string => names.key("bootstrap-file");

/** Undefined where a manifest asks for none. */
export function keyFileName(
  { metadata, kind }: KubeObject,
  names: Pick<PlatformNames, "key">,
): { readonly name: string } | { readonly fault: string } | undefined {
  const annotation = keyFileAnnotation(names);
  const name: unknown = metadata.annotations?.[annotation];
  if (name === undefined || kind !== "OwnedAccessKey") return undefined;
  if (typeof name === "string" && FILE_NAME.test(name) && !name.endsWith(PENDING)) return { name };
  return {
    fault: `metadata.annotations[${annotation}]: must be a file name without a path, such as robot.key or robot.kubeconfig`,
  };
}

export type KeyFiles = {
  /** A value for a key that is about to be made. It is on disk before the key is. */
  begin(fileName: string): Promise<string>;
  /** Once the key is there: its value, if it is the one that was begun, gets its file. A file of earlier keeps its value. */
  finish(fileName: string, keyName: string): Promise<void>;
};

/** Files of mode 0600 in a directory of mode 0700. */
export function createKeyFiles(deps: {
  readonly dataDir: string;
  /** The address of the management API. */
  readonly server: string;
  readonly certificateAuthorityPem: string | undefined;
  readonly generate: () => string;
  /** The name of the access key that a value opens now. */
  readonly keyOf: (value: string) => Promise<string | undefined>;
}): KeyFiles {
  const { dataDir, server, certificateAuthorityPem, generate, keyOf } = deps;
  const directory = join(dataDir, KEY_FILES);
  const textOf = (fileName: string, value: string): string =>
    KUBE_CONFIG.test(fileName)
      ? buildKubeconfig({
          server,
          ...(certificateAuthorityPem === undefined ? {} : { certificateAuthorityPem }),
          credential: { token: value },
          name: "postern",
        })
      : `${value}\n`;
  /** A kubeconfig points at the server wherever that is now. One that is gone stays gone. */
  const refresh = async (fileName: string): Promise<void> => {
    if (!KUBE_CONFIG.test(fileName)) return;
    const path = join(directory, fileName);
    const text = await readFileIfPresent(path, WHAT);
    const value = text === undefined ? undefined : TOKEN_LINE.exec(text)?.[1];
    if (value !== undefined && text !== textOf(fileName, value)) {
      await replacePrivateFile(path, textOf(fileName, value));
    }
  };
  return {
    async begin(fileName) {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      // A value of an earlier start is never restored: its key may have been deleted because it leaked.
      const value = generate();
      await replacePrivateFile(join(directory, `${fileName}${PENDING}`), value);
      return value;
    },
    async finish(fileName, keyName) {
      const pending = join(directory, `${fileName}${PENDING}`);
      const value = await readFileIfPresent(pending, WHAT);
      if (value === undefined) return await refresh(fileName);
      // Another server was faster, or the value was replaced before it was delivered.
      if ((await keyOf(value)) === keyName) {
        await replacePrivateFile(join(directory, fileName), textOf(fileName, value));
      }
      await rm(pending, { force: true });
    },
  };
}
