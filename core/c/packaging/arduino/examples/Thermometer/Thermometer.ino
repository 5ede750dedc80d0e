// A thermometer as an MCP server on the serial port: one tool that measures, one that sets the
// lamp. A sensor such as the TMP36 is on pin A0. Nothing else may print to Serial.
#include <mcp_sansio.h>

enum { MEASURE, LAMP };

// In the order of mcp_tool: name, title, description, schema of arguments and result, hints.
static const mcp_tool tools[] = {
  {"measure", NULL, "Measures the temperature", NULL,
   "{\"type\":\"object\",\"properties\":{\"celsius\":{\"type\":\"number\"}},"
   "\"required\":[\"celsius\"]}",
   MCP_READ_ONLY},
  {"lamp", NULL, "Switches the lamp of the board",
   "{\"type\":\"object\",\"properties\":{\"on\":{\"type\":\"boolean\"}},\"required\":[\"on\"]}",
   NULL, MCP_NOT_DESTRUCTIVE | MCP_IDEMPOTENT},
};
static const mcp_config config = {"thermometer", "1.0.0", NULL, NULL, tools, 2};

static mcp_server server;
static uint8_t rx[1024], tx[512];

// Writes what waits to be written, and waits for a computer that reads it.
static void flushOutput() {
  size_t len;
  const uint8_t *bytes;
  while (bytes = mcp_server_output(&server, &len), len > 0) {
    mcp_server_wrote(&server, Serial.write(bytes, len));
  }
}

// Makes a call until it is no longer MCP_FULL.
#define SEND(call) while ((call) == MCP_FULL) flushOutput()

static void call(const mcp_event &event) {
  if (event.index == MEASURE) {
    long tenths = analogRead(A0) * 3300L / 1023 - 500;  // 10 mV per degree, 500 mV at 0
    char text[32];
    snprintf(text, sizeof text, "{\"celsius\":%s%ld.%ld}", tenths < 0 ? "-" : "",
             labs(tenths) / 10, labs(tenths) % 10);
    SEND(mcp_reply_json(&server, event.request, text));
  } else {
    bool on = false;
    mcp_arg_bool(&server, "on", &on);  // the schema has checked it
    digitalWrite(LED_BUILTIN, on ? HIGH : LOW);
    SEND(mcp_reply_text(&server, event.request, on ? "The lamp is on" : "The lamp is off"));
  }
}

// Counts the wraps of millis(), which has 32 bits.
static uint64_t now() {
  static uint32_t before, wraps;
  uint32_t time = millis();
  if (time < before) wraps++;
  before = time;
  return (uint64_t)wraps << 32 | time;
}

void setup() {
  pinMode(LED_BUILTIN, OUTPUT);
  analogReadResolution(10);  // 1023 is 3.3 V
  Serial.begin(115200);
  mcp_server_init(&server, &config, rx, sizeof rx, tx, sizeof tx);
  mcp_server_peer_can_reconnect(&server);
}

void loop() {
  mcp_event event;
  mcp_step step = mcp_server_next(&server, now(), &event);
  if (step == MCP_TOOL) call(event);
  if (step != MCP_IO) return;
  flushOutput();
  size_t size;
  uint8_t *into = mcp_server_input(&server, &size);
  size_t count = 0;
  while (count < size && Serial.available() > 0) into[count++] = Serial.read();
  if (count > 0) mcp_server_read(&server, count);
}
