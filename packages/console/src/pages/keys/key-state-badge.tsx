// A badge with the state of an access key.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { useMemo } from "react";
import { Badge } from "../../components/badge.tsx";
import { useNow } from "../../format/now.ts";
import { named } from "../../texts/text.tsx";
import { keyState, type Moment, momentOf } from "./key-state.ts";

export function useMoment(): Moment {
  const now = useNow();
  return useMemo(() => momentOf(now), [now]);
}

export function KeyStateBadge({ accessKey }: { readonly accessKey: OwnedAccessKey }) {
  const { id, tone } = keyState(accessKey, useMoment());
  return <Badge tone={tone}>{named("key.state", id)}</Badge>;
}
