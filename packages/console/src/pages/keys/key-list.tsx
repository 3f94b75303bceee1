// Access keys as a list on the page of their owner or trust rule.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { Link } from "@tanstack/react-router";
import { nameOf } from "../../api/resources.ts";
import type { LiveList } from "../../api/use-live.ts";
import { Loading } from "../../components/loading.tsx";
import { LongList } from "../../components/long-list.tsx";
import { KeyStateBadge } from "./key-state-badge.tsx";

/** `keys`: the keys of `list` to show; `none`: the text without keys; `noteOf`: a note for one key. */
export function KeyList(props: {
  readonly list: LiveList<unknown>;
  readonly keys: readonly OwnedAccessKey[];
  readonly none: string;
  readonly noteOf?: (key: OwnedAccessKey) => string | undefined;
}) {
  const { list, keys, none, noteOf } = props;
  if (list.isLoading) return <Loading />;
  if (list.error !== null) return <p className="muted">{list.error.message}</p>;
  if (keys.length === 0) return <p className="muted">{none}</p>;
  return (
    <LongList items={keys} textOf={(key) => `${key.spec?.displayName ?? ""} ${nameOf(key)}`}>
      {(key) => (
        <li key={key.metadata.uid}>
          <span className="two-lines">
            <Link to="/keys/$name" params={{ name: nameOf(key) }}>
              {key.spec?.displayName || nameOf(key)}
            </Link>
            {noteOf !== undefined && <span className="muted mono">{noteOf(key)}</span>}
          </span>
          <KeyStateBadge accessKey={key} />
        </li>
      )}
    </LongList>
  );
}
