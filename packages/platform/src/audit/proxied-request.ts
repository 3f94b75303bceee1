// What the audit log says of a request through the proxy: the cluster that it goes to, and what it asks for there.

import { PROXY_TARGET_ANNOTATION } from "@postern/apimachinery/audit/audit-annotations";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { AuditedAs } from "@postern/apiserver/chain/with-audit";
import { resolveRequestInfo } from "@postern/apiserver/request/request-info-resolver";
import { type ProxyPath, parseProxyPath } from "../authorization/proxy-target.ts";

/** A path that is refused is recorded as it came. */
export const proxiedRequest: AuditedAs = ({ method, path, query }, info) => {
  try {
    const proxied = parseProxyPath(path);
    if (proxied === undefined) return { info };
    const inner = resolveRequestInfo(method, proxied.encodedPath, query);
    return { info: { ...inner, path: info.path }, annotations: { [PROXY_TARGET_ANNOTATION]: targetOf(proxied) } };
  } catch (error) {
    if (isApiError(error)) return { info };
    throw error;
  }
};

function targetOf({ destination }: ProxyPath): string {
  switch (destination.target) {
    case "ProjectVirtualCluster":
      return `virtualcluster/${destination.project}/${destination.virtualCluster}`;
    case "ProjectSpace":
      return `space/${destination.project}/${destination.space}`;
    case "Cluster":
      return `cluster/${destination.cluster}`;
  }
}
