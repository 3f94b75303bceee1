// A refusal of the API in parts: clients get it as the text that Kubernetes writes.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go

export type RefusedRequest = {
  /** As the server knows the caller. */
  readonly user: string;
  readonly verb: string;
  /** As a record of the audit log has it, such as `projects.management.postern/shop`, or the path. */
  readonly object: string;
  /** Empty for what is in no namespace. */
  readonly namespace: string;
  /** Added by the server, such as that the key has another scope. */
  readonly why: string;
};

const TEXT =
  /^(?:(?<named>\S+)(?: "(?<name>[^"]*)")? is )?forbidden: User "(?<user>[^"]*)" cannot (?<verb>\S+) (?:path "(?<path>[^"]*)"|resource "(?<resource>[^"]*)" in API group "[^"]*" (?:at the cluster scope|in the namespace "(?<namespace>[^"]*)"))(?:: (?<why>.*))?$/s;

/** Undefined for other texts: some rules of the platform have words of their own. */
export function refusedRequest(message: string): RefusedRequest | undefined {
  const found = TEXT.exec(message)?.groups;
  if (found === undefined) return undefined;
  const { user = "", verb = "", path, resource = "", named = "", name = "", namespace = "", why = "" } = found;
  const [, subresource = ""] = resource.split("/", 2);
  const object = path ?? [named, name, subresource].filter((part, at) => at < 2 || part !== "").join("/");
  return { user, verb, object, namespace, why };
}
