// The create that is measured.
export const ORDER = { server_type: "cx23", region: "fsn1", ttl: "1h" };
