// The platform that a context of a virtual cluster came from, written into the context as an extension, as other programs do. Commands find
// the platform by it, whatever context is current. It contains no secret.
// Source: k8s.io/client-go/tools/clientcmd/api/v1/types.go (NamedExtension)

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeconfigContext } from "@postern/client/kubeconfig";
import { textAt } from "../output/json-members.ts";

export type PlatformMark = {
  /** Address of the platform. */
  readonly server: string;
  /** Name of the login. */
  readonly login?: string;
  /** Absolute paths, as in KUBECONFIG, and the context in them. */
  readonly kubeconfig?: string;
  readonly context?: string;
};

const NAME = "postern";

/** For the context of a kubeconfig entry. */
export const markedContext = (mark: PlatformMark): JsonObject => ({
  extensions: [{ name: NAME, extension: { platform: { ...mark } } }],
});

/** Undefined for a context that another program has written. */
export function markOf({ extensions }: KubeconfigContext): PlatformMark | undefined {
  const platform = extensions.get(NAME)?.["platform"];
  const server = textAt(platform, "server");
  if (!isJsonObject(platform) || server === "") return undefined;
  const optional = <Name extends string>(name: Name) => {
    const text = textAt(platform, name);
    return text === "" ? {} : { [name]: text };
  };
  return { server, ...optional("login"), ...optional("kubeconfig"), ...optional("context") };
}
