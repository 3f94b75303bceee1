// The name of a key or a client certificate that the server counts, with a link to where it is revoked; the ID alone where it is gone.

import { Link } from "@tanstack/react-router";
import { t } from "../../texts/text.tsx";
import type { CountedKey } from "./use-activity.ts";

export function CountedKeyName({ of: { id, name, owner, virtualCluster } }: { readonly of: CountedKey }) {
  const cluster: string = `/clusters/${virtualCluster}`;
  return (
    <>
      {name !== undefined ? (
        <Link to="/keys/$name" params={{ name }}>
          {name}
        </Link>
      ) : virtualCluster !== undefined ? (
        <Link to={cluster} title={id}>
          {t("home.certificate", { name: virtualCluster })}
        </Link>
      ) : (
        <>
          {!id.startsWith("certificate:") && t("home.goneKey")} <code title={id}>{id}</code>
        </>
      )}
      {owner !== undefined && <span className="muted">{owner}</span>}
    </>
  );
}
