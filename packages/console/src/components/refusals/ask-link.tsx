// A link to ask for access, where a refusal of the server names the policy that would allow the request.

import { Link } from "@tanstack/react-router";
import { t } from "../../texts/text.tsx";

const OFFER = "you may ask for access: ";
const COMMAND = " access request ";

/** The query of the form, from the flags of the command in a refusal. Undefined where the refusal names none. */
export function requestableAccess(message: string): { readonly [name: string]: string } | undefined {
  const [, command = ""] = message.split(OFFER);
  const [, given] = command.split(COMMAND);
  if (given === undefined) return undefined;
  const words = given.split(" ");
  const flags = new Map<string, string>();
  for (let at = 0; at < words.length; at += 2) flags.set(words[at] ?? "", words[at + 1] ?? "");
  const [ofCluster = "", virtualCluster = ""] = (flags.get("--virtual-cluster") ?? "").split("/");
  const project = flags.get("--project") ?? ofCluster;
  const own = flags.get("--project-policy");
  const policy =
    own === undefined ? `ClusterAccessPolicy//${flags.get("--policy") ?? ""}` : `AccessPolicy/${project}/${own}`;
  const query = {
    policy,
    project,
    virtualCluster,
    cluster: flags.get("--cluster") ?? "",
    role: flags.get("--role") ?? "",
  };
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ""));
}

export function AskLink({ message }: { readonly message: string }) {
  const asked = requestableAccess(message);
  if (asked === undefined) return null;
  return (
    <Link to="/new/access-request" search={asked}>
      {t("request.new")}
    </Link>
  );
}
