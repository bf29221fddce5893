export interface FirstAccount {
  email: string
  password: string
  generated: boolean
}

/** Names the first account, with its password if nobody has chosen it. */
export function describeFirstAccount({ email, password, generated }: FirstAccount): string {
  const shown = generated ? `, its password ${password} (shown once)` : ''
  return `\nThe first account is ${email}${shown}.\n`
}

/** Commands for a newcomer to paste into a terminal, where one process has all roles. */
export function describeFirstSteps(account: FirstAccount, http: string, mqttPort: number): string {
  const password = account.generated ? account.password : '$FIELDLINE_OWNER_PASSWORD'
  return `
  Open ${http} in a browser and sign in. The same as lines to paste:

  # sign in
  TOKEN=$(curl -s ${http}/api/v3/auth/login -H 'content-type: application/json' \\
    -d "{\\"email\\":\\"${account.email}\\",\\"password\\":\\"${password}\\"}" | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')
  # create a device
  DEVICE=$(curl -s ${http}/api/v3/device -H "authorization: Bearer $TOKEN" \\
    -H 'content-type: application/json' -d '{"name":"My first tracker"}')
  ID=$(echo "$DEVICE" | sed 's/.*"_id":"\\([^"]*\\)".*/\\1/') KEY=$(echo "$DEVICE" | sed 's/.*"key":"\\([^"]*\\)".*/\\1/')
  # watch, in a second terminal
  npm run watch -- --url ${http} --email ${account.email} --password "${password}"
  # publish
  mosquitto_pub -p ${mqttPort} -u "$ID" -P "$KEY" -q 1 -t "devices/$ID/location" \\
    -m "{\\"lat\\":52.52,\\"lng\\":13.405,\\"timestamp\\":$(date +%s)}"
  # or see a whole fleet move
  npm run simulate -- --url ${http} --mqtt mqtt://127.0.0.1:${mqttPort} --email ${account.email} --password "${password}"

The interface is described at ${http}/api/v3/docs
`
}
