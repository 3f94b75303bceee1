// Credentials below those that they were made with: revoking one revokes what stands below it.

import { Link } from "@tanstack/react-router";
import { FileBadge, KeyRound } from "lucide-react";
import { useMemo } from "react";
import type { Credential } from "../api/resources.ts";
import { t } from "../texts/text.tsx";
import { Time } from "./ui.tsx";

type Node = { readonly credential: Credential; readonly below: readonly Node[] };

/** Each credential once, below the first of its parents that is in the list. */
export function treeOf(credentials: readonly Credential[]): readonly Node[] {
  const known = new Set(credentials.map(({ id }) => id));
  const below = new Map<string, Credential[]>();
  const roots: Credential[] = [];
  for (const credential of credentials) {
    const parent = credential.parents?.find((id) => known.has(id) && id !== credential.id);
    if (parent === undefined) roots.push(credential);
    else below.set(parent, [...(below.get(parent) ?? []), credential]);
  }
  const nodeOf = (credential: Credential): Node => ({
    credential,
    below: (below.get(credential.id) ?? []).map(nodeOf),
  });
  return roots.map(nodeOf);
}

export function CredentialTree({ credentials }: { readonly credentials: readonly Credential[] }) {
  const roots = useMemo(() => treeOf(credentials), [credentials]);
  return <Branches nodes={roots} />;
}

function Branches({ nodes }: { readonly nodes: readonly Node[] }) {
  return (
    <ul className="tree">
      {nodes.map(({ credential, below }) => (
        <li key={credential.id}>
          <Leaf credential={credential} />
          {below.length > 0 && <Branches nodes={below} />}
        </li>
      ))}
    </ul>
  );
}

function Leaf({ credential }: { readonly credential: Credential }) {
  const { kind, name, subject, virtualCluster, owner, expirationTimestamp, lastActivity, id } = credential;
  return (
    <div className="leaf">
      {kind === "Certificate" ? <FileBadge aria-hidden="true" /> : <KeyRound aria-hidden="true" />}
      <span className="two-lines">
        {kind === "AccessKey" && name !== undefined ? (
          <Link to="/keys/$name" params={{ name }}>
            {name}
          </Link>
        ) : (
          <span>{t("credential.certificate", { subject: subject ?? id })}</span>
        )}
        <span className="muted">
          {[owner, virtualCluster === undefined ? "" : t("credential.for", { name: virtualCluster })]
            .filter(Boolean)
            .join(" · ")}
        </span>
      </span>
      <span className="leaf-times muted">
        {kind === "AccessKey" && (
          <span>
            {lastActivity !== undefined && t("credential.used")}{" "}
            <Time at={lastActivity} otherwise={t("key.neverUsed")} />
          </span>
        )}
        <span>
          {t("credential.ends")} <Time at={expirationTimestamp} otherwise={t("key.neverExpires")} />
        </span>
      </span>
    </div>
  );
}
