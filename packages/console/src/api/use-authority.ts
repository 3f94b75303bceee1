// The CA that signed the certificate of the server, in PEM, for commands that are run elsewhere.

import { useQuery } from "@tanstack/react-query";

const ADDRESS = "/console/ca.crt";

/** The CA of the server. Empty without one. Clients that trust the certificate anyway need none. */
export function useAuthority(): string {
  const { data = "" } = useQuery({
    queryKey: ["authority"],
    async queryFn({ signal }) {
      const answer = await fetch(ADDRESS, { signal });
      return answer.status === 200 ? await answer.text() : "";
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  return data;
}
