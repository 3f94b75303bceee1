// The name of a key that the server counts, with a link to it; the ID alone where the key is gone.

import { Link } from "@tanstack/react-router";
import type { CountedKey } from "./use-activity.ts";

export function CountedKeyName({ of: { id, name, owner } }: { readonly of: CountedKey }) {
  return (
    <>
      {name === undefined ? (
        <code title={id}>{id}</code>
      ) : (
        <Link to="/keys/$name" params={{ name }}>
          {name}
        </Link>
      )}
      {owner !== undefined && <span className="muted">{owner}</span>}
    </>
  );
}
